"""The classes that an adapter's test class inherits; the package says which."""

from tests.store_conformance.against_dictionary import AgainstDictionary
from tests.store_conformance.concurrency import ConcurrencyConformance
from tests.store_conformance.durability import Durability, InFolder
from tests.store_conformance.filtering import FilterConformance
from tests.store_conformance.reading import ReadingConformance
from tests.store_conformance.searching import SearchConformance
from tests.store_conformance.sizes import SizeConformance
from tests.store_conformance.transactions import TransactionConformance
from tests.store_conformance.writing import WritingConformance


class StoreBehaviour(
    TransactionConformance,
    WritingConformance,
    ReadingConformance,
    FilterConformance,
    SearchConformance,
    ConcurrencyConformance,
    SizeConformance,
):
    """All but the comparison with a dictionary."""


class StoreConformance(StoreBehaviour, AgainstDictionary):
    """Any store."""


class DurableConformance(StoreConformance, Durability):
    """A store that has everything when it is opened again."""


class FolderConformance(DurableConformance, InFolder):
    """A store that keeps everything in files of its folder."""
