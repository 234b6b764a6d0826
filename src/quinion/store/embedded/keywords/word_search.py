"""Collection of the embedded store in one snapshot, as a search by words reads it."""

import json
import sqlite3
from collections.abc import Iterable

import numpy as np

from quinion.errors import StoreUnavailable
from quinion.model.record import Record
from quinion.store.base import Vectors
from quinion.store.embedded.bitmap import Mask, Slots
from quinion.store.embedded.database import REPAIR
from quinion.store.embedded.keywords.scoring import Scoring, find_similar
from quinion.store.embedded.metadata_index import decoding
from quinion.store.embedded.rows import find_by_slots
from quinion.store.embedded.vectors.vector_index import Collection, VectorIndex
from quinion.store.filters import Where, matches
from quinion.store.keywords.bm25 import Norms
from quinion.store.keywords.postings import Postings

_METADATA = """
SELECT slot, metadata FROM records
WHERE collection = ? AND slot IN (SELECT value FROM json_each(?))
"""


class EmbeddedWordIndex:
    """Collection in one snapshot; implements `store.keywords.word_search.WordIndex`.

    `live` has the slots with records, and `mask` those that may match `where`; without `where`,
    they match.
    """

    def __init__(
        self,
        database: sqlite3.Connection,
        collection: Collection,
        scoring: Scoring,
        vectors: VectorIndex,
        live: Mask,
        mask: Mask,
        where: Where | None,
    ) -> None:
        self._database = database
        self._collection = collection
        self._scoring = scoring
        self._vectors = vectors
        self._live = live
        self.mask = mask
        self._where = where

    def check_complete(self, *, required: bool) -> None:
        """Check that all records are in the keyword index, if that is required.

        Raises:
            StoreUnavailable: some are not, or it has others.
        """
        indexed, records = self.norms().records, int(np.count_nonzero(self._live))
        if indexed > records:
            raise StoreUnavailable(f"The keyword index is damaged. {REPAIR}")
        if required and indexed < records:
            raise StoreUnavailable(
                f"The keyword index is being built: {indexed:,} of {records:,} texts are in it. "
                "Try again later, or search in the mode semantic or hybrid."
            )

    def read_postings(self, terms: Iterable[str]) -> dict[str, Postings]:
        size = max(len(self.mask), len(self.norms().norms))
        return self._scoring.postings(self._database, self._collection, terms, size)

    def find_similar(self, word: str) -> list[str]:
        return find_similar(self._database, self._collection.number, word)

    def norms(self) -> Norms:
        return self._scoring.norms(self._database, self._collection)

    def filter(self, slots: Slots) -> Slots:
        if not self._where:
            return slots
        rows = self._database.execute(
            _METADATA, (self._collection.number, json.dumps(slots.tolist()))
        )
        with decoding():
            kept = [slot for slot, data in rows if matches(json.loads(data), self._where)]
        return slots[np.isin(slots, kept)]

    def find_nearest(self, vector: Vectors, count: int, exact: int) -> Slots:
        return self._vectors.nearest(
            self._database, self._collection, vector, count, self.mask, exact=exact
        )[0]

    def dot(self, slots: Slots, vector: Vectors) -> Vectors:
        return self._vectors.vectors(self._database, self._collection).dot(slots, vector)

    def mean(self) -> Vectors:
        file = self._vectors.vectors(self._database, self._collection)
        return self._scoring.mean(self._collection, file, self._live)

    def read(self, slots: Slots) -> dict[int, Record]:
        rows = find_by_slots(self._database, self._collection.number, slots.tolist())
        records = {row.slot: row.record for row in rows}
        with decoding():
            return {slot: records[slot] for slot in slots.tolist()}
