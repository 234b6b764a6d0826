"""Base classes for an adapter's test class; see the package's docstring."""

from tests.store_conformance.against_dictionary import AgainstDictionary
from tests.store_conformance.concurrency import ConcurrencyConformance
from tests.store_conformance.durability import Durability, InFolder
from tests.store_conformance.filtering import FilterConformance
from tests.store_conformance.reading import ReadingConformance
from tests.store_conformance.searching import SearchConformance
from tests.store_conformance.sizes import SizeConformance
from tests.store_conformance.transactions import TransactionConformance
from tests.store_conformance.words import WordConformance
from tests.store_conformance.writing import WritingConformance


class StoreBehaviour(
    TransactionConformance,
    WritingConformance,
    ReadingConformance,
    FilterConformance,
    SearchConformance,
    WordConformance,
    ConcurrencyConformance,
    SizeConformance,
):
    """All tests except the comparison with dictionaries."""


class StoreConformance(StoreBehaviour, AgainstDictionary):
    """Tests for any store."""


class DurableConformance(StoreConformance, Durability):
    """Tests for a store that persists its data."""


class FolderConformance(DurableConformance, InFolder):
    """Tests for a store that keeps all data in files of its folder."""
