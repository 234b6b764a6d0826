"""Search by words: candidates by words and by vector, ranked together."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from quinion.lexical.word_query import Phrase, WordQuery
from quinion.model.record import Hit, Match, Record, read_context, score_of_distance
from quinion.store.base import Candidates, Rank, Vectors
from quinion.store.keywords.bm25 import (
    Norms,
    PostingsReader,
    WordScores,
    find_best,
    find_with_terms,
    score,
)
from quinion.store.keywords.postings import Mask, Slots

WIDEN_FACTOR = 8
"""Growth of the number of candidates, each time that too few of the best match the filter."""
MAX_WITH_PHRASE = 10_000
"""Records with all terms of a phrase that are searched for the phrase itself, best first."""
PHRASE_STEP = 200


class WordIndex(PostingsReader, Protocol):
    """One collection in one snapshot, with the filter of one search."""

    @property
    def mask(self) -> Mask:
        """The slots of all records that match the filter, and perhaps of others."""
        ...

    def norms(self) -> Norms:
        """The norms of all slots."""
        ...

    def filter(self, slots: Slots) -> Slots:
        """Keep the slots of the records that match the filter, in their order."""
        ...

    def find_nearest(self, vector: Vectors, count: int, exact: int) -> Slots:
        """Find that many of the slots in the mask by vector, of which the first are exact."""
        ...

    def dot(self, slots: Slots, vector: Vectors) -> Vectors:
        """The products of the vectors at these slots, which ascend, with this one."""
        ...

    def mean(self) -> Vectors:
        """The mean vector of the collection, or that of a sample."""
        ...

    def read(self, slots: Slots) -> Mapping[int, Record]:
        """Read the records at these slots."""
        ...


def search_words(
    index: WordIndex,
    query: WordQuery,
    vector: Vectors,
    limit: int,
    rank: Rank,
    nearest: int,
) -> list[Hit]:
    """Find candidates by words, and by vector if `nearest`; rank them and read the best."""
    vector = vector.ravel()
    scored = score(index, query, index.norms(), index.mask)
    depth = max(limit, nearest)
    slots = _find_with_phrases(index, query.phrases, scored, depth)
    if nearest and not len(slots):
        by_words = _accept(index, partial(find_best, scored.scores, index.mask), depth)
        by_vector = _accept(index, partial(_find_nearest, index, vector, limit), nearest)
        slots = np.union1d(by_words, by_vector)
    elif not query.phrases:
        slots = np.sort(_accept(index, partial(find_best, scored.scores, index.mask), depth))
    if not len(slots):
        return []
    cosines = index.dot(slots, vector)
    scores = rank(Candidates(cosines, scored.scores[slots], float(index.mean() @ vector)))
    best = np.argsort(-scores, kind="stable")[:limit]
    return _read(index, slots[best], cosines[best], scores[best], scored)


def _find_nearest(index: WordIndex, vector: Vectors, limit: int, count: int) -> Slots:
    return index.find_nearest(vector, count, limit)


def _accept(index: WordIndex, find: Callable[[int], Slots], count: int) -> Slots:
    """Find the best that match the filter, of which the mask has a superset."""
    wanted = count
    while True:
        slots = find(wanted)
        accepted = index.filter(slots)
        if len(accepted) >= count or len(slots) < wanted:
            return accepted[:count]
        wanted *= WIDEN_FACTOR


def _find_with_phrases(
    index: WordIndex, phrases: Sequence[Phrase], scored: WordScores, count: int
) -> Slots:
    """Find the best matching records with all phrases, by ascending slots."""
    if not phrases:
        return np.empty(0, np.int64)
    terms = (term for phrase in phrases for term in phrase.terms)
    mask = index.mask & find_with_terms(index, terms, len(index.mask))
    slots = find_best(scored.scores, mask, MAX_WITH_PHRASE)
    found: list[int] = []
    for start in range(0, len(slots), PHRASE_STEP):
        some = index.filter(slots[start : start + PHRASE_STEP])
        records = index.read(some)
        found += [
            slot
            for slot in some.tolist()
            if slot in records and _has_phrases(records[slot], phrases)
        ]
        if len(found) >= count:
            break
    return np.sort(np.array(found[:count], np.int64))


def _has_phrases(record: Record, phrases: Sequence[Phrase]) -> bool:
    texts = record.text, read_context(record.metadata)
    return all(any(phrase.is_in(text) for text in texts) for phrase in phrases)


def _read(
    index: WordIndex, slots: Slots, cosines: Vectors, scores: Vectors, scored: WordScores
) -> list[Hit]:
    records = index.read(slots)
    # The same rounding as in a search by vector.
    distances = np.maximum(2.0 - 2.0 * cosines, 0.0)
    return [
        Hit(
            records[slot],
            score_of_distance(distance),
            Match(value, scored.find_words(slot) if scored.scores[slot] else ()),
        )
        for slot, distance, value in zip(
            slots.tolist(), distances.tolist(), scores.tolist(), strict=True
        )
    ]
