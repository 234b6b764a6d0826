"""The embedded store does what every store does: on disk, with binary codes, and in memory."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from quinion.store.base import VectorStore
from quinion.store.embedded.store import EmbeddedStore
from tests.store_conformance.suite import FolderConformance, StoreConformance


class TestOnDisk(FolderConformance):
    def open(self, folder: Path) -> VectorStore:
        return EmbeddedStore(folder)


class TestInMemory(StoreConformance):
    readers_wait = True

    def open(self, folder: Path) -> VectorStore:
        return EmbeddedStore(None)


class TestWithCodes(FolderConformance):
    """Binary codes are made and used for as few vectors as the tests have."""

    patches: ClassVar[Mapping[str, object]] = {
        f"quinion.store.embedded.vector_index.{name}": limit
        for name, limit in {"MIN_CODED": 4, "MAX_EXACT": 3, "MAX_EXACT_SCATTERED": 2}.items()
    }

    def open(self, folder: Path) -> VectorStore:
        return EmbeddedStore(folder)
