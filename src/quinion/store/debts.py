"""What Chroma is owed: the records that were changed in the ledger, and not in Chroma yet.

A debt is noted by the transaction that changes the record, so a process may die anywhere, and
the next one knows what Chroma lacks. `following` pays.
"""

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS owed (
    number INTEGER PRIMARY KEY AUTOINCREMENT, collection INTEGER NOT NULL, id TEXT NOT NULL,
    change INTEGER NOT NULL, UNIQUE (collection, id)
);
"""
# Under a new number: whoever is giving Chroma the old one must not take this for given.
_OWE = """
INSERT OR REPLACE INTO owed (collection, id, change)
SELECT :collection, value, max(:change, coalesce(
    (SELECT change FROM owed WHERE collection = :collection AND id = value), :change
)) FROM json_each(:ids)
"""
_OWING = """
SELECT DISTINCT name FROM collections JOIN owed ON owed.collection = collections.number
"""
_OWED = """
SELECT number, id, change FROM owed
WHERE collection = (SELECT number FROM collections WHERE name = ?) ORDER BY number LIMIT ?
"""


class Change(IntEnum):
    """What was written of a record; each says all that the one before it says."""

    METADATA = 0
    ALL = 1
    LESS = 2
    """Its metadata has lost something, which Chroma forgets only with the record."""


@dataclass(frozen=True, slots=True)
class Owed:
    """A record that was changed in the ledger, and not in Chroma yet."""

    number: int
    id: str
    change: Change


class Debts:
    """Those of all collections of a ledger.

    `note` and `drop` are called inside of the ledger's transactions, on its `writer`; `settle`
    makes one.
    """

    def __init__(
        self,
        writer: sqlite3.Connection,
        read: Callable[[str, Sequence[Any]], list[Any]],
        transaction: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._writer = writer
        self._read = read
        self._transaction = transaction

    def note(self, number: int, ids: Sequence[str], change: Change) -> None:
        """Chroma is owed these records of the collection of this number."""
        values = {"collection": number, "ids": json.dumps(list(ids)), "change": change}
        self._writer.execute(_OWE, values)

    def drop(self, number: int) -> None:
        """Nothing is owed of the collection of this number."""
        self._writer.execute("DELETE FROM owed WHERE collection = ?", (number,))

    def count(self) -> int:
        """How many records Chroma is owed."""
        [(owed,)] = self._read("SELECT count(*) FROM owed", ())
        return int(owed)

    def collections(self) -> list[str]:
        """The names of all collections of which Chroma is owed something."""
        return [name for (name,) in self._read(_OWING, ())]

    def of(self, collection: str, most: int) -> list[Owed]:
        """What Chroma is owed of this collection, the oldest first: what is there now is to be
        written, and what is not there is to be deleted."""
        found = self._read(_OWED, (collection, most))
        return [Owed(number, id_, Change(change)) for number, id_, change in found]

    def settle(self, owed: Sequence[Owed]) -> None:
        """Chroma has got these as they were, or later ones."""
        with self._transaction():
            self._writer.executemany(
                "DELETE FROM owed WHERE number = ?", [(one.number,) for one in owed]
            )
