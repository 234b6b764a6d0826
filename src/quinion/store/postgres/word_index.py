"""Collection in one snapshot, as a search by words reads it."""

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np
from psycopg import Connection

from quinion.model.record import Record
from quinion.store.base import Vectors
from quinion.store.filters import Where
from quinion.store.keywords.bm25 import Norms, compute_norms
from quinion.store.keywords.mean import sample_slots
from quinion.store.keywords.postings import Mask, Postings, Slots
from quinion.store.keywords.postings_cache import PostingsCache
from quinion.store.postgres.keyword_index import find_similar, read_lengths, read_postings
from quinion.store.postgres.rows import Collection, find_by_slots, find_few, find_matching
from quinion.store.postgres.vector_search import compute_mean, dot, find_nearest_among


class Cache:
    """Norms, slots in use, mean vector and postings of each collection, by its version."""

    def __init__(self) -> None:
        self._norms: dict[int, tuple[int, Norms, Mask]] = {}
        self._means: dict[int, tuple[int, Vectors]] = {}
        self._postings = PostingsCache()
        self._lock = threading.Lock()

    def postings(
        self, connection: Connection[Any], collection: Collection, terms: Iterable[str]
    ) -> dict[str, Postings]:
        """The postings of these terms in this snapshot."""

        def read(missing: list[str]) -> dict[str, Postings]:
            return read_postings(connection, collection.number, missing)

        return self._postings.read(collection.number, collection.version, terms, read)

    def norms(self, connection: Connection[Any], collection: Collection) -> tuple[Norms, Mask]:
        """The norms of a collection in this snapshot, and which slots have a record."""
        known = self._norms.get(collection.number)
        if known is None or known[0] != collection.version:
            lengths = read_lengths(connection, collection.number)
            known = collection.version, compute_norms(lengths), lengths > 0
            with self._lock:
                if self._norms.get(collection.number, (-1,))[0] < collection.version:
                    self._norms[collection.number] = known
        return known[1], known[2]

    def mean(self, connection: Connection[Any], collection: Collection, live: Mask) -> Vectors:
        """The mean vector of a collection, or that of evenly spaced records of a large one."""
        known = self._means.get(collection.number)
        if known is None or known[0] != collection.version:
            mean = compute_mean(connection, collection.number, sample_slots(live))
            known = collection.version, mean
            with self._lock:
                if self._means.get(collection.number, (-1,))[0] < collection.version:
                    self._means[collection.number] = known
        return known[1]


class PostgresWordIndex:
    """Collection in one snapshot; implements `store.keywords.word_search.WordIndex`."""

    def __init__(
        self,
        connection: Connection[Any],
        collection: Collection,
        cache: Cache,
        where: Where | None,
    ) -> None:
        self._connection = connection
        self._collection = collection
        self._cache = cache
        self._where = where
        self._norms, self._live = cache.norms(connection, collection)
        self._few = find_few(connection, collection.number, where)
        self.mask = self._live
        if self._few is not None:
            self.mask = np.zeros(len(self._live), np.bool_)
            self.mask[self._few] = True

    def norms(self) -> Norms:
        return self._norms

    def read_postings(self, terms: Iterable[str]) -> dict[str, Postings]:
        return self._cache.postings(self._connection, self._collection, terms)

    def find_similar(self, word: str) -> list[str]:
        return find_similar(self._connection, self._collection.number, word)

    def filter(self, slots: Slots) -> Slots:
        if not self._where or self._few is not None or not len(slots):
            return slots
        kept = find_matching(self._connection, self._collection.number, self._where, slots)
        return slots[np.isin(slots, kept)]

    def find_nearest(self, vector: Vectors, count: int, exact: int) -> Slots:
        return find_nearest_among(
            self._connection, self._collection, vector, count, self._where, self._few
        )[0]

    def dot(self, slots: Slots, vector: Vectors) -> Vectors:
        return dot(self._connection, self._collection.number, slots, vector)

    def mean(self) -> Vectors:
        return self._cache.mean(self._connection, self._collection, self._live)

    def read(self, slots: Slots) -> dict[int, Record]:
        return find_by_slots(self._connection, self._collection.number, slots)
