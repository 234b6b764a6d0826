"""Integrity check of the keyword index: sums over its entries and over those of the records.

An entry is a term (or none, for a record's length) with a slot and a count. The sums are equal if
the entries are, whatever their order.
"""

import sqlite3
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from quinion.model.record import Record
from quinion.store.embedded.keywords.keyword_index import (
    BLOCK,
    MAX_COUNT,
    MAX_LENGTH,
    Lengths,
    count_terms,
    read_lengths,
)
from quinion.store.embedded.keywords.scoring import decode
from quinion.store.embedded.metadata_index import decoding

_ALL = "SELECT term, block, postings FROM keyword_postings WHERE collection = ?"
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
SUMS = 1 << 64
"""Sums are modulo this number."""
_BITS = SUMS - 1

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


def sum_index(database: sqlite3.Connection, collection: int) -> int:
    """Sum all entries of the index.

    Raises:
        StoreUnavailable: it can't be decoded.
    """
    lengths = read_lengths(database, collection)
    slots = np.flatnonzero(lengths)
    total = int(_mix(slots, lengths[slots].astype(np.int64)).sum())
    for term, block, postings in database.execute(_ALL, (collection,)):
        with decoding():
            found = decode([(block, postings)])
            mixed = _mix(found.slots.astype(np.int64), found.counts.astype(np.int64))
            total += int(mixed.sum()) * (hash(str(term)) & _BITS)
    return total % SUMS


def _mix(slots: NDArray[np.int64], counts: NDArray[np.int64]) -> Numbers:
    """Hash pairs of slot and count."""
    mixed = (slots.astype(np.uint64) * np.uint64(BLOCK * BLOCK) + counts.astype(np.uint64)) * _MIX
    return (mixed ^ (mixed >> _SHIFT)) * _MIX
