"""BM25 scores of the records for the words of a query, in one snapshot.

Each word is searched for by its terms: a reference by all of it and by its parts. A word that the
index lacks is replaced by similar ones: those that it begins, or those that differ by one letter.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from quinion.lexical.spelling import has_variants
from quinion.lexical.word_query import QueryWord, WordQuery
from quinion.store.base import Vectors
from quinion.store.keywords.postings import Counts, Lengths, Mask, Postings, Slots

K1, B = 1.2, 0.75
"""Parameters of BM25: saturation of the term frequency, and weight of the record's length."""
SPARSE_RATIO = 8
"""If at most one in this many slots is in the mask, only these are scored and compared."""

SAMPLE_STEP = 61
"""One in this many slots is in the sample from which a bound of the best scores is taken. A prime
number: records that alternate, or repeat in any other way, must not be all missed."""


@dataclass(frozen=True, slots=True)
class Norms:
    """Norm of each slot's length, and the number of indexed records."""

    norms: Vectors
    records: int


@dataclass(frozen=True, slots=True)
class WordScores:
    """Score of each slot in the mask, and the postings of each word of the query."""

    scores: Vectors
    words: Sequence[tuple[QueryWord, Sequence[Postings]]]

    def find_words(self, slot: int) -> tuple[str, ...]:
        """The words of the query that the record at this slot contains."""
        found = (word for word, terms in self.words if any(slot in one for one in terms))
        return tuple(one.word for one in found)


class PostingsReader(Protocol):
    """Reader of the postings of one collection in one snapshot."""

    def read_postings(self, terms: Iterable[str]) -> Mapping[str, Postings]:
        """Read the postings of these terms, as far as the index has them."""
        ...

    def find_similar(self, word: str) -> list[str]:
        """Find the most frequent terms that begin with the word or else differ by one letter."""
        ...


def compute_norms(lengths: Lengths) -> Norms:
    """Compute the norms of all slots from their lengths."""
    records = int(np.count_nonzero(lengths))
    # A stored length is one more than the number of terms.
    average = max((int(lengths.sum(dtype=np.int64)) - records) / max(records, 1), 1.0)
    terms = np.maximum(lengths.astype(np.float32) - 1, 0)
    norms = np.float32(K1) * (np.float32(1 - B) + np.float32(B / average) * terms)
    return Norms(norms, records)


def score(reader: PostingsReader, query: WordQuery, norms: Norms, mask: Mask) -> WordScores:
    """Score the records of a collection that are in the mask, and perhaps others."""
    scores = np.zeros(max(len(mask), len(norms.norms)), np.float32)
    wanted: Mask | None = None
    if _is_sparse(mask):
        wanted = np.zeros(len(scores), np.bool_)
        wanted[: len(mask)] = mask
    known = reader.read_postings(dict.fromkeys(term for one in query.words for term in one.terms))
    words = []
    for word in query.words:
        found = [known[term] for term in word.terms if term in known]
        if not found and has_variants(word.word):
            similar = reader.find_similar(word.word)
            others = reader.read_postings(similar)
            found = [others[term] for term in similar if term in others]
        words.append((word, found))
        for one in found:
            # Decoded one by one, so that each uses the memory of the one before.
            slots, places = one.slots(), None
            if wanted is not None:
                places = np.flatnonzero(wanted.take(slots))
                slots = slots[places]
            # Each slot is there once. Several times faster than `scores[slots] +=`.
            np.add.at(scores, slots, _weigh(slots, one.counts(places), len(one), norms))
    return WordScores(scores[: len(mask)], words)


def find_with_terms(reader: PostingsReader, terms: Iterable[str], size: int) -> Mask:
    """Find the slots of the records that have all of these terms."""
    wanted = dict.fromkeys(terms)
    known = reader.read_postings(wanted)
    mask = np.ones(size, np.bool_)
    for term in wanted:
        one = np.zeros(size, np.bool_)
        if term in known:
            slots = known[term].slots()
            one[slots[slots < size]] = True
        mask &= one
    return mask


def find_best(scores: Vectors, mask: Mask, count: int) -> Slots:
    """Find the slots in the mask with the best positive scores, best first."""
    if _is_sparse(mask):
        slots = np.flatnonzero(mask)
        slots = slots[scores[slots] > 0]
    else:
        slots = np.flatnonzero((scores >= _find_bound(scores, mask, count)) & mask)
    found = scores[slots]
    if len(slots) > count:
        chosen = found >= np.partition(found, -count)[-count]
        slots, found = slots[chosen], found[chosen]
    return slots[np.argsort(-found, kind="stable")[:count]]


def _is_sparse(mask: Mask) -> bool:
    return bool(np.count_nonzero(mask) * SPARSE_RATIO <= len(mask))


def _find_bound(scores: Vectors, mask: Mask, count: int) -> float:
    """A positive score that none of the `count` best is below: the last of the best of a sample."""
    sample = scores[::SAMPLE_STEP][mask[::SAMPLE_STEP]]
    bound = np.partition(sample, -count)[-count] if len(sample) >= count else 0.0
    return max(float(bound), float(np.finfo(np.float32).smallest_subnormal))


def _weigh(slots: Slots, counts: Counts, frequency: int, norms: Norms) -> Vectors:
    """BM25 of records for a term that `frequency` records have."""
    rarity = np.log1p((norms.records - frequency + 0.5) / (frequency + 0.5))
    divisors = norms.norms.take(slots)
    divisors += counts
    weights = counts * np.float32(rarity * (K1 + 1))
    weights /= divisors
    return weights
