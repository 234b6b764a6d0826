"""Keyword index: for each term, the slots of the records that contain it, and how often.

The terms of a record are those of its text and of what it stands under (title, file name,
headings, references). Postings and lengths are blobs in blocks of slots. They are written in the
transaction that writes the records, so a reader's snapshot has both. A record without a length is
not indexed yet: `builder` indexes the records of homes that have no index, or one by another
analysis.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from quinion.lexical.tokens import ANALYSIS
from quinion.model.record import Record
from quinion.store.embedded.bitmap import Slots
from quinion.store.embedded.metadata_index import all_slots, decoding
from quinion.store.embedded.rows import count_slots
from quinion.store.keywords.postings import (
    LENGTH,
    MAX_LENGTH,
    Lengths,
    count_terms,
    encode_posting,
    remove_postings,
)

BLOCK = 16_384
"""Slots per block: fewer make a change cheaper, more make a search cheaper, which reads a row for
each. At most 65,536."""
LAYOUT = 2
"""Version of the blocks. An index with other ones is made again."""
VERSION = 1_000 * LAYOUT + ANALYSIS

Indexed = Iterable[tuple[int, Record]]
"""Records with their slots."""
Key = tuple[str, int]
"""Term and block number."""

_READ = "SELECT postings FROM keyword_postings WHERE collection = ? AND term = ? AND block = ?"
_APPEND = """
INSERT INTO keyword_postings (collection, term, block, postings) VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET postings = CAST(postings || excluded.postings AS BLOB)
"""
_WRITE = """
INSERT OR REPLACE INTO keyword_postings (collection, term, block, postings) VALUES (?, ?, ?, ?)
"""
_DELETE = "DELETE FROM keyword_postings WHERE collection = ? AND term = ? AND block = ?"
_WRITE_LENGTHS = """
INSERT OR REPLACE INTO keyword_lengths (collection, block, lengths) VALUES (?, ?, ?)
"""


def prepare(database: sqlite3.Connection) -> None:
    """Empty the index if it has another layout, or if another analysis made it."""
    [(found,)] = database.execute("SELECT coalesce(max(version), 0) FROM keyword_analysis")
    if found != VERSION:
        for table in ("keyword_postings", "keyword_lengths", "keyword_analysis"):
            database.execute(f"DELETE FROM {table}")  # noqa: S608
        database.execute("INSERT INTO keyword_analysis (version) VALUES (?)", (VERSION,))


def change(
    database: sqlite3.Connection, collection: int, *, removed: Indexed = (), added: Indexed = ()
) -> None:
    """Remove records from the index, as far as it has them, and add others.

    The slots of added records are not in the index, unless they are removed by this change.
    """
    lengths = _LengthBlocks(database, collection)
    removals: defaultdict[Key, list[int]] = defaultdict(list)
    additions: defaultdict[Key, bytearray] = defaultdict(bytearray)
    for slot, record in removed:
        if lengths.replace(slot, 0):
            block, offset = divmod(slot, BLOCK)
            for term in count_terms(record):
                removals[term, block].append(offset)
    for slot, record in added:
        block, offset = divmod(slot, BLOCK)
        terms = count_terms(record)
        for term, count in terms.items():
            additions[term, block] += encode_posting(offset, count)
        lengths.replace(slot, min(terms.total() + 1, MAX_LENGTH))
    _rewrite(database, collection, removals, additions)
    rows = [(collection, *key, bytes(new)) for key, new in sorted(additions.items())]
    database.executemany(_APPEND, rows)
    lengths.write()


def _rewrite(
    database: sqlite3.Connection,
    collection: int,
    removals: dict[Key, list[int]],
    additions: dict[Key, bytearray],
) -> None:
    """Rewrite the blocks of postings from which some are removed, with their additions."""
    rewritten, emptied = [], []
    with decoding():
        for key in sorted(removals):
            for (old,) in database.execute(_READ, (collection, *key)).fetchall():
                new = remove_postings(old, removals[key]) + additions.pop(key, b"")
                if new:
                    rewritten.append((collection, *key, new))
                else:
                    emptied.append((collection, *key))
    database.executemany(_WRITE, rewritten)
    database.executemany(_DELETE, emptied)


def drop(database: sqlite3.Connection, collection: int) -> None:
    """Drop the index of a collection."""
    for table in ("keyword_postings", "keyword_lengths"):
        database.execute(f"DELETE FROM {table} WHERE collection = ?", (collection,))  # noqa: S608


def read_lengths(database: sqlite3.Connection, collection: int) -> Lengths:
    """Read the lengths of all records, by slot."""
    query = "SELECT block, lengths FROM keyword_lengths WHERE collection = ? ORDER BY block"
    rows = database.execute(query, (collection,)).fetchall()
    with decoding():
        found = np.zeros((rows[-1][0] + 1) * BLOCK if rows else 0, LENGTH)
        for block, lengths in rows:
            found[block * BLOCK : (block + 1) * BLOCK] = np.frombuffer(lengths, LENGTH, BLOCK)
    return found


def find_unindexed(database: sqlite3.Connection, collection: int) -> Slots:
    """Find the slots of the records that are not indexed yet."""
    size = count_slots(database, collection)
    lengths = fit(read_lengths(database, collection), size)
    return np.flatnonzero(all_slots(database, collection, size) & (lengths == 0))


def fit(lengths: Lengths, size: int) -> Lengths:
    """The lengths of that many slots."""
    fitted = np.zeros(size, LENGTH)
    fitted[: len(lengths)] = lengths[:size]
    return fitted


class _LengthBlocks:
    """Lengths of some slots: read and written by block."""

    def __init__(self, database: sqlite3.Connection, collection: int) -> None:
        self._database = database
        self._collection = collection
        self._blocks: dict[int, Lengths] = {}

    def replace(self, slot: int, length: int) -> int:
        """Set the length of a slot; return the old one."""
        block, offset = divmod(slot, BLOCK)
        lengths = self._blocks.get(block)
        if lengths is None:
            lengths = self._blocks[block] = self._read(block)
        old = int(lengths[offset])
        lengths[offset] = length
        return old

    def write(self) -> None:
        """Write the changed blocks."""
        rows = [(self._collection, block, new.tobytes()) for block, new in self._blocks.items()]
        self._database.executemany(_WRITE_LENGTHS, rows)

    def _read(self, block: int) -> Lengths:
        query = "SELECT lengths FROM keyword_lengths WHERE collection = ? AND block = ?"
        lengths = np.zeros(BLOCK, LENGTH)
        with decoding():
            for (found,) in self._database.execute(query, (self._collection, block)):
                lengths[:] = np.frombuffer(found, LENGTH, BLOCK)
        return lengths
