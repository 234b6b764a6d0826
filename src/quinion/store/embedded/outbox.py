"""Outbox: ids of records that are changed in the store, but not yet in its mirror.

An entry is part of the transaction that changes the record, so no change is lost if the process
is killed. An empty id means that the collection was dropped; it is the first entry of its
collection. `store/chroma/replicator.py` reads the outbox.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence

from quinion.store.embedded.database import Database

# A new sequence number, because the replicator may be sending the old entry.
_ADD = "INSERT OR REPLACE INTO outbox (collection, id) SELECT ?, value FROM json_each(?)"
_WAITING = "SELECT collection, count(*) FROM outbox GROUP BY collection ORDER BY min(sequence)"
_READ = "SELECT id, sequence FROM outbox WHERE collection = ? ORDER BY sequence LIMIT ?"
STEP = 10_000
"""Entries added in one transaction."""
STAMP = "mirror stamp"
"""Key of the key-value table with the state of the mirror's file when it was last current."""


def add(database: sqlite3.Connection, collection: str, ids: Sequence[str]) -> None:
    """Add records of a collection, in the transaction that changes them."""
    database.execute(_ADD, (collection, json.dumps(list(ids))))


def add_drop(database: sqlite3.Connection, collection: str) -> None:
    """Add an entry for a dropped collection, and remove its earlier entries."""
    database.execute("DELETE FROM outbox WHERE collection = ?", (collection,))
    add(database, collection, [""])


def was_used(database: sqlite3.Connection) -> bool:
    """Whether there ever was an entry or a stamp: then a mirror exists, even if it is now off."""
    query = (
        "SELECT 1 FROM sqlite_sequence WHERE name = 'outbox' "
        "UNION ALL SELECT 1 FROM key_values WHERE key = ?"
    )
    return database.execute(query, (STAMP,)).fetchone() is not None


class Outbox:
    """Access to the outbox for the mirror."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, collection: str, ids: Sequence[str]) -> None:
        """Add records that are to be sent again, in steps that do not delay other writers."""
        for start in range(0, len(ids), STEP):
            with self._database.write() as database:
                add(database, collection, ids[start : start + STEP])

    def count(self) -> dict[str, int]:
        """Count the entries by collection; collections with the oldest entries come first."""
        with self._database.read() as database:
            return dict(database.execute(_WAITING).fetchall())

    def read(self, collection: str, limit: int = -1) -> dict[str, int]:
        """Read the oldest entries of a collection, or all: sequence numbers by id."""
        with self._database.read() as database:
            return dict(database.execute(_READ, (collection, limit)).fetchall())

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove entries that have been sent, by their sequence numbers."""
        with self._database.write() as database:
            query = "DELETE FROM outbox WHERE sequence = ?"
            database.executemany(query, [(number,) for number in numbers])
