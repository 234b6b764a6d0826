"""What scoring by words reads from the embedded store, cached: postings, norms and means."""

import json
import sqlite3
import threading
from collections.abc import Iterable

from quinion.lexical.spelling import MAX_SIMILAR, find_variants
from quinion.lexical.tokens import stem
from quinion.store.base import Vectors
from quinion.store.embedded.bitmap import Mask
from quinion.store.embedded.keywords.keyword_index import BLOCK, read_lengths
from quinion.store.embedded.metadata_index import decoding
from quinion.store.embedded.vectors.vector_file import VectorFile
from quinion.store.embedded.vectors.vector_index import Collection
from quinion.store.keywords.bm25 import Norms, compute_norms
from quinion.store.keywords.mean import sample_slots
from quinion.store.keywords.postings import Postings, decode
from quinion.store.keywords.postings_cache import PostingsCache

_POSTINGS = """
SELECT block, postings FROM keyword_postings WHERE collection = ? AND term = ? ORDER BY block
"""
_FREQUENCIES = """
SELECT term, sum(length(postings)) AS size FROM keyword_postings
WHERE collection = ? AND {condition} GROUP BY term ORDER BY size DESC, term LIMIT ?
"""
_BEGINS = _FREQUENCIES.format(condition="term >= ? AND term < ?")
_IS_ONE = _FREQUENCIES.format(condition="term IN (SELECT value FROM json_each(?))")


class Scoring:
    """Cache of the norms, the mean and postings of each collection, by its version."""

    def __init__(self) -> None:
        self._norms: dict[int, tuple[int, Norms]] = {}
        self._means: dict[int, tuple[int, Vectors]] = {}
        self._postings = PostingsCache()
        self._lock = threading.Lock()

    def drop(self, number: int) -> None:
        """Forget a collection."""
        self._norms.pop(number, None)
        self._means.pop(number, None)
        self._postings.drop(number)

    def postings(
        self, database: sqlite3.Connection, collection: Collection, terms: Iterable[str], size: int
    ) -> dict[str, Postings]:
        """The postings of these terms in this snapshot, whose slots are below `size`."""

        def read(missing: list[str]) -> dict[str, Postings]:
            return _read_postings(database, collection.number, missing, size)

        return self._postings.read(collection.number, collection.version, terms, read)

    def norms(self, database: sqlite3.Connection, collection: Collection) -> Norms:
        """The norms of a collection in this snapshot."""
        known = self._norms.get(collection.number)
        if known is None or known[0] != collection.version:
            known = collection.version, compute_norms(read_lengths(database, collection.number))
            with self._lock:
                if self._norms.get(collection.number, (-1,))[0] < collection.version:
                    self._norms[collection.number] = known
        return known[1]

    def mean(self, collection: Collection, vectors: VectorFile, live: Mask) -> Vectors:
        """The mean vector of a collection, or that of evenly spaced records of a large one."""
        known = self._means.get(collection.number)
        if known is None or known[0] != collection.version:
            known = collection.version, vectors.read(sample_slots(live)).mean(axis=0)
            with self._lock:
                if self._means.get(collection.number, (-1,))[0] < collection.version:
                    self._means[collection.number] = known
        return known[1]


def _read_postings(
    database: sqlite3.Connection, collection: int, terms: Iterable[str], size: int
) -> dict[str, Postings]:
    """Read the postings of these terms, whose slots are below `size`."""
    found = {}
    for term in terms:
        try:
            rows = database.execute(_POSTINGS, (collection, term)).fetchall()
        except UnicodeEncodeError:  # half of a surrogate pair, which no stored text has
            continue
        if rows:
            with decoding():
                found[term] = one = decode(rows, BLOCK)
                if one.blocks[0] < 0 or one.blocks[-1] * BLOCK >= size:
                    raise IndexError(f"the postings of {term!r}")
    return found


def find_similar(database: sqlite3.Connection, collection: int, word: str) -> list[str]:
    """Find the most frequent terms that begin with the word or else differ by one letter."""
    start = stem(word)
    for query, values in (
        (_BEGINS, (start, f"{start}\U0010ffff")),
        (_IS_ONE, (json.dumps(sorted(find_variants(word))),)),
    ):
        rows = database.execute(query, (collection, *values, MAX_SIMILAR)).fetchall()
        if rows:
            return [term for term, _ in rows]
    return []
