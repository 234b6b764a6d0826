"""Runs the suite on the dictionary store, the reference for the other adapters."""

from pathlib import Path

from quinion.store.base import VectorStore
from tests.store_conformance import dictionary_store
from tests.store_conformance.dictionary_store import DictionaryStore
from tests.store_conformance.suite import StoreBehaviour


class TestDictionaryStore(StoreBehaviour):
    def open(self, folder: Path) -> VectorStore:
        return DictionaryStore()


def test_a_store_can_be_written_in_under_200_lines() -> None:
    assert len(Path(dictionary_store.__file__).read_text().splitlines()) < 200
