"""Outbox: the ids of records that were changed in the store and not in its mirror yet.

An entry is written by the transaction that changes the record, so a process may die anywhere and
the next one knows what the mirror lacks. An empty id stands for the whole collection, which was
dropped; it is the first entry of its collection. `store/chroma/replicator.py` is the reader.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence

from quinion.store.embedded.database import Database

# Under a new number: the replicator may be sending the old entry at this moment.
_ADD = "INSERT OR REPLACE INTO outbox (collection, id) SELECT ?, value FROM json_each(?)"
_WAITING = "SELECT collection, count(*) FROM outbox GROUP BY collection ORDER BY min(sequence)"
_READ = "SELECT id, sequence FROM outbox WHERE collection = ? ORDER BY sequence LIMIT ?"
STAMP = "mirror stamp"
"""The key of the key-value table that says what the mirror looked like when it was current."""


def add(database: sqlite3.Connection, collection: str, ids: Sequence[str]) -> None:
    """Add records of a collection, in the transaction that changes them."""
    database.execute(_ADD, (collection, json.dumps(list(ids))))


def add_drop(database: sqlite3.Connection, collection: str) -> None:
    """Add that the collection was dropped; what was to be sent of it before is not."""
    database.execute("DELETE FROM outbox WHERE collection = ?", (collection,))
    add(database, collection, [""])


def was_used(database: sqlite3.Connection) -> bool:
    """Whether there ever was an entry or a stamp, and so a mirror, even if it is off now."""
    query = (
        "SELECT 1 FROM sqlite_sequence WHERE name = 'outbox' "
        "UNION ALL SELECT 1 FROM key_values WHERE key = ?"
    )
    return database.execute(query, (STAMP,)).fetchone() is not None


class Outbox:
    """The outbox of a store, for its mirror."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, collection: str, ids: Sequence[str]) -> None:
        """Have the mirror get these records again."""
        with self._database.write() as database:
            add(database, collection, ids)

    def count(self) -> dict[str, int]:
        """The number of entries of each collection that has some, the oldest first."""
        with self._database.read() as database:
            return dict(database.execute(_WAITING).fetchall())

    def read(self, collection: str, most: int = -1) -> dict[str, int]:
        """The oldest entries of a collection, or all: the ids, each with its number."""
        with self._database.read() as database:
            return dict(database.execute(_READ, (collection, most)).fetchall())

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove the entries with these numbers, which the mirror has got."""
        with self._database.write() as database:
            query = "DELETE FROM outbox WHERE sequence = ?"
            database.executemany(query, [(number,) for number in numbers])
