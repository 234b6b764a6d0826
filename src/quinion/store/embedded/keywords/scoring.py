"""BM25 scores of the records for the words of a query, in one snapshot.

Each word is searched for by its terms: a reference by all of it and by its parts. A word that the
index lacks is replaced by similar ones: those that it begins, or those that differ by one letter.
"""

import json
import sqlite3
import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from quinion.lexical.spelling import MAX_SIMILAR, find_variants, has_variants
from quinion.lexical.tokens import stem
from quinion.lexical.word_query import QueryWord, WordQuery
from quinion.store.base import Vectors
from quinion.store.embedded.bitmap import Mask
from quinion.store.embedded.keywords.keyword_index import BLOCK, POSTING, read_lengths
from quinion.store.embedded.metadata_index import decoding
from quinion.store.embedded.vectors.vector_file import VectorFile
from quinion.store.embedded.vectors.vector_index import Collection

K1, B = 1.2, 0.75
"""Parameters of BM25: saturation of the term frequency, and weight of the record's length."""
MEAN_SAMPLE = 4_096
"""Number of vectors that the mean of a collection is computed from."""
_POSTINGS = """
SELECT block, postings FROM keyword_postings WHERE collection = ? AND term = ? ORDER BY block
"""
_FREQUENCIES = """
SELECT term, sum(length(postings)) AS size FROM keyword_postings
WHERE collection = ? AND {condition} GROUP BY term ORDER BY size DESC, term LIMIT ?
"""
_BEGINS = _FREQUENCIES.format(condition="term >= ? AND term < ?")
_IS_ONE = _FREQUENCIES.format(condition="term IN (SELECT value FROM json_each(?))")


@dataclass(frozen=True, slots=True)
class Postings:
    """The slots of the records with a term, by block, and the term's frequency in each.

    `blocks` has the numbers of the blocks, and `ends` the ends of their parts.
    """

    slots: NDArray[np.int32]
    counts: Vectors
    blocks: Sequence[int]
    ends: Sequence[int]

    def __contains__(self, slot: int) -> bool:
        """Whether the record at this slot has the term."""
        block = slot // BLOCK
        place = bisect_left(self.blocks, block)
        if place == len(self.blocks) or self.blocks[place] != block:
            return False
        start = self.ends[place - 1] if place else 0
        return bool((self.slots[start : self.ends[place]] == slot).any())


@dataclass(frozen=True, slots=True)
class Norms:
    """Norm of each slot's length, and the number of indexed records, at one version."""

    version: int
    norms: Vectors
    records: int


@dataclass(frozen=True, slots=True)
class WordScores:
    """Score of each slot, and the postings of each word of the query."""

    scores: Vectors
    words: Sequence[tuple[QueryWord, Sequence[Postings]]]

    def find_words(self, slot: int) -> tuple[str, ...]:
        """The words of the query that the record at this slot contains."""
        found = (word for word, terms in self.words if any(slot in one for one in terms))
        return tuple(one.word for one in found)


class Scoring:
    """Scoring of records, with the norms and the mean of each collection cached by its version."""

    def __init__(self) -> None:
        self._norms: dict[int, Norms] = {}
        self._means: dict[int, tuple[int, Vectors]] = {}
        self._lock = threading.Lock()

    def drop(self, number: int) -> None:
        """Forget a collection."""
        self._norms.pop(number, None)
        self._means.pop(number, None)

    def norms(self, database: sqlite3.Connection, collection: Collection) -> Norms:
        """The norms of a collection in this snapshot."""
        known = self._norms.get(collection.number)
        if known is None or known.version != collection.version:
            known = _compute_norms(database, collection)
            with self._lock:
                newest = self._norms.get(collection.number)
                if newest is None or newest.version < collection.version:
                    self._norms[collection.number] = known
        return known

    def score(
        self, database: sqlite3.Connection, collection: Collection, query: WordQuery, size: int
    ) -> WordScores:
        """Score the records of a collection that has `size` slots."""
        norms = self.norms(database, collection)
        scores = np.zeros(max(size, len(norms.norms)), np.float32)
        words = []
        for word in query.words:
            postings = list(_find_postings(database, collection.number, word))
            words.append((word, postings))
            with decoding():
                for one in postings:
                    scores[one.slots] += _score(one, norms)
        return WordScores(scores[:size], words)

    def mean(self, collection: Collection, vectors: VectorFile, live: Mask) -> Vectors:
        """The mean vector of a collection, or that of evenly spaced records of a large one."""
        known = self._means.get(collection.number)
        if known is None or known[0] != collection.version:
            slots = np.flatnonzero(live)
            places = np.linspace(0, len(slots) - 1, min(len(slots), MEAN_SAMPLE)).astype(np.int64)
            known = collection.version, vectors.read(slots[places]).mean(axis=0)
            with self._lock:
                if self._means.get(collection.number, (-1,))[0] < collection.version:
                    self._means[collection.number] = known
        return known[1]


def find_with_terms(
    database: sqlite3.Connection, collection: int, terms: Iterable[str], size: int
) -> Mask:
    """Find the slots of the records that have all of these terms."""
    mask = np.ones(size, np.bool_)
    for term in terms:
        one = np.zeros(size, np.bool_)
        if postings := read_postings(database, collection, term):
            one[postings.slots[postings.slots < size]] = True
        mask &= one
    return mask


def read_postings(database: sqlite3.Connection, collection: int, term: str) -> Postings | None:
    """Read the postings of a term; `None` if there are none."""
    try:
        rows = database.execute(_POSTINGS, (collection, term)).fetchall()
    except UnicodeEncodeError:  # half of a surrogate pair, which no stored text has
        return None
    if not rows:
        return None
    with decoding():
        return decode(rows)


def decode(rows: Sequence[tuple[int, bytes]]) -> Postings:
    """Decode blocks of postings, given with their numbers."""
    found = np.frombuffer(b"".join([postings for _, postings in rows]), POSTING)
    blocks = [block for block, _ in rows]
    sizes = [len(postings) // POSTING.itemsize for _, postings in rows]
    slots = found["offset"].astype(np.int32)
    slots += np.repeat(np.array(blocks, np.int32) * BLOCK, sizes)
    return Postings(slots, found["count"].astype(np.float32), blocks, [*accumulate(sizes)])


def _compute_norms(database: sqlite3.Connection, collection: Collection) -> Norms:
    lengths = read_lengths(database, collection.number)
    records = int(np.count_nonzero(lengths))
    # A stored length is one more than the number of terms.
    average = max((int(lengths.sum(dtype=np.int64)) - records) / max(records, 1), 1.0)
    terms = np.maximum(lengths.astype(np.float32) - 1, 0)
    norms = np.float32(K1) * (np.float32(1 - B) + np.float32(B / average) * terms)
    return Norms(collection.version, norms, records)


def _score(postings: Postings, norms: Norms) -> Vectors:
    frequency = len(postings.slots)
    rarity = np.log1p((norms.records - frequency + 0.5) / (frequency + 0.5))
    weights = postings.counts * np.float32(rarity * (K1 + 1))
    weights /= postings.counts + norms.norms[postings.slots]
    return weights


def _find_postings(
    database: sqlite3.Connection, collection: int, word: QueryWord
) -> Iterator[Postings]:
    """Find the postings of a word's terms, or of similar terms if there are none."""
    is_found = False
    for term in word.terms:
        if postings := read_postings(database, collection, term):
            is_found = True
            yield postings
    if not is_found and has_variants(word.word):
        for term in _find_similar(database, collection, word.word):
            if postings := read_postings(database, collection, term):
                yield postings


def _find_similar(database: sqlite3.Connection, collection: int, word: str) -> list[str]:
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
