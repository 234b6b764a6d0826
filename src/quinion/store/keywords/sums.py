"""Sums over the entries of a keyword index, and over those that its records should have.

An entry is a term (or none, for a record's length) with a slot and a count. The sums are equal if
the entries are, whatever their order.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from quinion.model.record import Record
from quinion.store.keywords.postings import MAX_COUNT, MAX_LENGTH, Lengths, Postings, count_terms

SUMS = 1 << 64
"""Sums are modulo this number."""
_BITS = SUMS - 1
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_COUNTS = np.uint64(1 << 24)
"""More than the number of different counts."""

Numbers = NDArray[np.uint64]


def sum_records(records: Iterable[tuple[int, Record]], lengths: Lengths) -> int:
    """Sum the entries that the records should have, except those that are not indexed yet."""
    total = 0
    for slot, record in records:
        if slot < len(lengths) and lengths[slot]:
            terms = count_terms(record)
            counts = np.fromiter(terms.values(), np.int64, len(terms))
            hashes = np.fromiter((hash(term) & _BITS for term in terms), np.uint64, len(terms))
            slots = np.full(len(terms), slot, np.int64)
            total += int((_mix(slots, np.minimum(counts, MAX_COUNT)) * hashes).sum())
            length = min(terms.total() + 1, MAX_LENGTH)
            total += int(_mix(np.array([slot]), np.array([length]))[0])
    return total % SUMS


def sum_lengths(lengths: Lengths) -> int:
    """Sum the entries of the records' lengths."""
    slots = np.flatnonzero(lengths)
    return int(_mix(slots, lengths[slots].astype(np.int64)).sum())


def sum_postings(term: str, postings: Postings) -> int:
    """Sum the entries of a term."""
    mixed = _mix(postings.slots(), postings.counts().astype(np.int64))
    return int(mixed.sum()) * (hash(term) & _BITS)


def _mix(slots: NDArray[np.int64], counts: NDArray[np.int64]) -> Numbers:
    """Hash pairs of slot and count."""
    mixed = (slots.astype(np.uint64) * _COUNTS + counts.astype(np.uint64)) * _MIX
    return (mixed ^ (mixed >> _SHIFT)) * _MIX
