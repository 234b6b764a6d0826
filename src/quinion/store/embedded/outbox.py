"""Outbox: the records that were changed in the store and not in its mirror yet.

An entry is written by the transaction that changes the record, so a process may die anywhere and
the next one knows what the mirror lacks. `store/chroma/replicator.py` reads it.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

# Under a new number: the replicator may be sending the old entry at this moment.
_ADD = """
INSERT OR REPLACE INTO outbox (collection, id, change)
SELECT :collection, value, max(:change, coalesce(
    (SELECT change FROM outbox WHERE collection = :collection AND id = value), :change
)) FROM json_each(:ids)
"""
_READ = "SELECT sequence, id, change FROM outbox WHERE collection = ? ORDER BY sequence LIMIT ?"
STAMP = "mirror stamp"
"""The key of the key-value table that says what the mirror looked like when it was current."""


class Change(IntEnum):
    """What was changed of a record; each value includes those before it."""

    METADATA = 0
    ALL = 1
    KEYS_REMOVED = 2
    """Its metadata has lost a key, which Chroma forgets only with the record."""
    DROP = 3
    """The whole collection was dropped; the entry has no id."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A record that the mirror lacks."""

    sequence: int
    id: str
    change: Change


def add(database: sqlite3.Connection, collection: str, ids: Sequence[str], change: Change) -> None:
    """Add records of a collection."""
    values = {"collection": collection, "ids": json.dumps(list(ids)), "change": change}
    database.execute(_ADD, values)


def add_drop(database: sqlite3.Connection, collection: str) -> None:
    """Add that the collection was dropped; what was to be sent of it before is not."""
    database.execute("DELETE FROM outbox WHERE collection = ?", (collection,))
    add(database, collection, [""], Change.DROP)


def was_used(database: sqlite3.Connection) -> bool:
    """Whether there ever was an entry or a stamp, and so a mirror, even if it is off now."""
    query = (
        "SELECT 1 FROM sqlite_sequence WHERE name = 'outbox' "
        "UNION ALL SELECT 1 FROM key_values WHERE key = ?"
    )
    return database.execute(query, (STAMP,)).fetchone() is not None


def count(database: sqlite3.Connection) -> int:
    """The number of entries."""
    [(entries,)] = database.execute("SELECT count(*) FROM outbox")
    return int(entries)


def collections(database: sqlite3.Connection) -> list[str]:
    """The names of all collections that have entries."""
    query = "SELECT collection FROM outbox GROUP BY collection ORDER BY min(sequence)"
    return [name for (name,) in database.execute(query)]


def read(database: sqlite3.Connection, collection: str, most: int) -> list[Entry]:
    """The oldest entries of a collection."""
    found = database.execute(_READ, (collection, most)).fetchall()
    return [Entry(sequence, id_, Change(change)) for sequence, id_, change in found]


def remove(database: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    """Remove entries that were sent."""
    database.executemany(
        "DELETE FROM outbox WHERE sequence = ?", [(entry.sequence,) for entry in entries]
    )
