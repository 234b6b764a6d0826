"""Search by words in the embedded store: candidates by words and by vector, ranked together."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from quinion.errors import StoreUnavailable
from quinion.lexical.word_query import Phrase, WordQuery
from quinion.model.record import Hit, Match, Record, read_context, score_of_distance
from quinion.store.base import Candidates, Rank, Vectors
from quinion.store.embedded.bitmap import Mask, Slots
from quinion.store.embedded.database import REPAIR
from quinion.store.embedded.keywords.scoring import Scoring, WordScores, find_with_terms
from quinion.store.embedded.metadata_index import decoding
from quinion.store.embedded.rows import find_by_slots
from quinion.store.embedded.vectors.vector_index import Collection, VectorIndex
from quinion.store.filters import Where, matches

WIDEN_FACTOR = 8
"""Growth of the number of candidates, each time that too few of the best match the filter."""
MAX_WITH_PHRASE = 10_000
"""Records with all terms of a phrase that are searched for the phrase itself, best first."""
PHRASE_STEP = 200
_METADATA = """
SELECT slot, metadata FROM records
WHERE collection = ? AND slot IN (SELECT value FROM json_each(?))
"""


class WordSearch:
    """Searches of one collection in one snapshot.

    `live` has the slots with records, and `mask` those that may match `where`; without `where`,
    they match.
    """

    def __init__(
        self,
        database: sqlite3.Connection,
        collection: Collection,
        live: Mask,
        mask: Mask,
        where: Where | None,
    ) -> None:
        self._database = database
        self._collection = collection
        self._live = live
        self._mask = mask
        self._where = where

    def find(
        self,
        scoring: Scoring,
        vectors: VectorIndex,
        query: WordQuery,
        vector: Vectors,
        limit: int,
        rank: Rank,
        nearest: int,
    ) -> list[Hit]:
        """Find candidates by words, and by vector if `nearest`; rank them and read the best."""
        vector = vector.ravel()
        norms = scoring.norms(self._database, self._collection)
        _check_complete(norms.records, int(np.count_nonzero(self._live)), required=not nearest)
        scored = scoring.score(self._database, self._collection, query, len(self._live))
        depth = max(limit, nearest)
        slots = self._find_with_phrases(query.phrases, scored, depth)
        if nearest and not len(slots):
            by_words = self._accept(partial(_find_best, scored.scores, self._mask), depth)
            nearest_to = partial(self._find_nearest, vectors, vector, limit)
            slots = np.union1d(by_words, self._accept(nearest_to, nearest))
        elif not query.phrases:
            slots = np.sort(self._accept(partial(_find_best, scored.scores, self._mask), depth))
        if not len(slots):
            return []
        file = vectors.vectors(self._database, self._collection)
        cosines = file.dot(slots, vector)
        mean = scoring.mean(self._collection, file, self._live)
        scores = rank(Candidates(cosines, scored.scores[slots], float(mean @ vector)))
        best = np.argsort(-scores, kind="stable")[:limit]
        return self._read(slots[best], cosines[best], scores[best], scored)

    def _find_nearest(self, vectors: VectorIndex, vector: Vectors, limit: int, count: int) -> Slots:
        """Find that many of the nearest, of which the first `limit` are exact."""
        return vectors.nearest(
            self._database, self._collection, vector, count, self._mask, exact=limit
        )[0]

    def _accept(self, find: Callable[[int], Slots], count: int) -> Slots:
        """Find the best that match the filter, of which the mask has a superset."""
        wanted = count
        while True:
            slots = find(wanted)
            accepted = self._filter(slots)
            if len(accepted) >= count or len(slots) < wanted:
                return accepted[:count]
            wanted *= WIDEN_FACTOR

    def _filter(self, slots: Slots) -> Slots:
        if not self._where:
            return slots
        rows = self._database.execute(
            _METADATA, (self._collection.number, json.dumps(slots.tolist()))
        )
        with decoding():
            kept = [slot for slot, data in rows if matches(json.loads(data), self._where)]
        return slots[np.isin(slots, kept)]

    def _find_with_phrases(
        self, phrases: Sequence[Phrase], scored: WordScores, count: int
    ) -> Slots:
        """Find the best matching records with all phrases, by ascending slots."""
        if not phrases:
            return np.empty(0, np.int64)
        terms = dict.fromkeys(term for phrase in phrases for term in phrase.terms)
        number = self._collection.number
        mask = self._mask & find_with_terms(self._database, number, terms, len(self._mask))
        slots = _find_best(scored.scores, mask, MAX_WITH_PHRASE)
        found: list[int] = []
        for start in range(0, len(slots), PHRASE_STEP):
            some = slots[start : start + PHRASE_STEP]
            rows = {row.slot: row for row in find_by_slots(self._database, number, some.tolist())}
            ordered = [rows[slot] for slot in some.tolist() if slot in rows]
            found += [row.slot for row in ordered if self._has_phrases(row.record, phrases)]
            if len(found) >= count:
                break
        return np.sort(np.array(found[:count], np.int64))

    def _has_phrases(self, record: Record, phrases: Sequence[Phrase]) -> bool:
        if self._where and not matches(record.metadata, self._where):
            return False
        texts = record.text, read_context(record.metadata)
        return all(any(phrase.is_in(text) for text in texts) for phrase in phrases)

    def _read(
        self, slots: Slots, cosines: Vectors, scores: Vectors, scored: WordScores
    ) -> list[Hit]:
        rows = find_by_slots(self._database, self._collection.number, slots.tolist())
        records = {row.slot: row.record for row in rows}
        # The same rounding as in a search by vector.
        distances = np.maximum(2.0 - 2.0 * cosines, 0.0)
        with decoding():
            return [
                Hit(
                    records[slot],
                    score_of_distance(distance),
                    Match(score, scored.find_words(slot) if scored.scores[slot] else ()),
                )
                for slot, distance, score in zip(
                    slots.tolist(), distances.tolist(), scores.tolist(), strict=True
                )
            ]


def _check_complete(indexed: int, records: int, *, required: bool) -> None:
    """Check that all records are in the keyword index, if that is required.

    Raises:
        StoreUnavailable: some are not, or it has others.
    """
    if indexed > records:
        raise StoreUnavailable(f"The keyword index is damaged. {REPAIR}")
    if required and indexed < records:
        raise StoreUnavailable(
            f"The keyword index is being built: {indexed:,} of {records:,} texts are in it. "
            "Try again later, or search in the mode semantic or hybrid."
        )


def _find_best(scores: Vectors, mask: Mask, count: int) -> Slots:
    """Find the slots in the mask with the best positive scores, best first."""
    slots = np.flatnonzero((scores > 0) & mask)
    found = scores[slots]
    if len(slots) > count:
        chosen = found >= np.partition(found, -count)[-count]
        slots, found = slots[chosen], found[chosen]
    return slots[np.argsort(-found, kind="stable")[:count]]
