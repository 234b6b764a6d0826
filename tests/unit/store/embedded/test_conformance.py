"""Conformance of the embedded store: on disk, with binary codes, and in memory."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest

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


@pytest.mark.slow
class TestWithCodes(FolderConformance):
    """Embedded store that uses binary codes even for the few vectors of the tests."""

    patches: ClassVar[Mapping[str, object]] = {
        f"quinion.store.embedded.vectors.vector_index.{name}": limit
        for name, limit in {"MIN_CODED": 4, "MAX_EXACT": 3, "MAX_EXACT_SCATTERED": 2}.items()
    }

    def open(self, folder: Path) -> VectorStore:
        return EmbeddedStore(folder)
