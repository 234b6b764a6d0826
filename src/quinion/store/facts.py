"""Facts: each value that metadata has, noted once, with the places of the records that have it.

So a filter is asked of the different values and not of every record. What is found this way are
candidates: all that match are among them, and the records themselves decide.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from quinion.model.record import Metadata
from quinion.store.filters import NEGATIONS, Where, as_operators, passes
from quinion.store.rows import Places

SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (
    number INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (collection, key, value)
);
CREATE TABLE IF NOT EXISTS holders (
    fact INTEGER NOT NULL, place INTEGER NOT NULL, PRIMARY KEY (fact, place)
) WITHOUT ROWID;
"""
LONGEST = 256
"""Characters. Longer values are not noted, and filters on them read the records."""
LONG = "long"
MOST_REMEMBERED = 200_000
"""So that they are not looked up for each record."""

Read = Callable[[str, Sequence[Any]], list[Any]]


class Facts:
    """The facts of all collections of a ledger, each collection by its number.

    What changes them is called inside of the ledger's transactions, on its `writer`.
    """

    def __init__(self, writer: sqlite3.Connection, read: Read) -> None:
        self._writer = writer
        self._read = read
        self._known: dict[tuple[int, str, str], int] = {}

    def note(self, collection: int, held: Iterable[tuple[int, Metadata]]) -> None:
        """Note what the records at these places have."""
        self._writer.executemany(
            "INSERT OR IGNORE INTO holders (fact, place) VALUES (?, ?)",
            list(self._pairs(collection, held)),
        )

    def forget(self, collection: int, held: Iterable[tuple[int, Metadata]]) -> None:
        """Take back what was noted of the records at these places."""
        self._writer.executemany(
            "DELETE FROM holders WHERE fact = ? AND place = ?",
            list(self._pairs(collection, held)),
        )

    def drop_unheld(self, collection: int, gone: Iterable[Metadata]) -> None:
        """Forget those of these values that no record has any more."""
        for key, value in {fact for metadata in gone for fact in _facts(metadata)}:
            self._writer.execute(
                "DELETE FROM facts WHERE collection = ? AND key = ? AND value = ? "
                "AND NOT EXISTS (SELECT 1 FROM holders WHERE fact = number)",
                (collection, key, value),
            )
            self._known.pop((collection, key, value), None)

    def drop(self, collection: int) -> None:
        """Forget all of a collection."""
        self._writer.execute(
            "DELETE FROM holders WHERE fact IN (SELECT number FROM facts WHERE collection = ?)",
            (collection,),
        )
        self._writer.execute("DELETE FROM facts WHERE collection = ?", (collection,))
        self.unlearn()

    def unlearn(self) -> None:
        """Look everything up again: what was remembered may have been rolled back."""
        self._known.clear()

    def candidates(self, collection: int, where: Where, most: int | None) -> Places | None:
        """Places among which are all records that match; None if that would be more than `most`,
        or if it can only be told from the records themselves."""
        found: Places | None = None
        for key, condition in where.items():
            for part in self._narrow(collection, key, condition, most):
                if part is not None:
                    found = part if found is None else np.intersect1d(found, part)
        return found

    def _narrow(
        self, collection: int, key: str, condition: Any, most: int | None
    ) -> Iterator[Places | None]:
        """Candidates by one part of a filter; of several, each alone would do."""
        if key == "$and":
            for part in condition:
                yield self.candidates(collection, part, most)
        elif key == "$or":
            parts = [self.candidates(collection, part, most) for part in condition]
            union = np.unique(np.concatenate([np.empty(0, np.int64), *filter(_is_known, parts)]))
            fits = most is None or len(union) <= most
            yield union if fits and all(map(_is_known, parts)) else None
        else:
            for name, operand in as_operators(condition).items():
                if name not in NEGATIONS:
                    yield self._holders(collection, key, name, operand, most)

    def _holders(
        self, collection: int, key: str, name: str, operand: Any, most: int | None
    ) -> Places | None:
        """The places of all records whose value of this key passes."""
        values = self._values(collection, key, name, operand)
        if any(value == LONG for _, value in values):
            return None
        chosen = [fact for fact, value in values if passes(json.loads(value), name, operand)]
        found = self._read(
            "SELECT place FROM holders WHERE fact IN (SELECT value FROM json_each(?)) LIMIT ?",
            (json.dumps(chosen), -1 if most is None else most + 1),
        )
        if most is not None and len(found) > most:
            return None
        return np.unique(np.array([place for (place,) in found], np.int64))

    def _values(self, collection: int, key: str, name: str, operand: Any) -> list[Any]:
        """The facts of a key that may pass: where it is known how they are written, these alone."""
        if name not in ("$eq", "$in"):
            return self._read(
                "SELECT number, value FROM facts WHERE collection = ? AND key = ?",
                (collection, key),
            )
        operands = operand if name == "$in" else [operand]
        written = [LONG, *(form for one in operands for form in _forms(one))]
        return self._read(
            "SELECT number, value FROM facts WHERE collection = ? AND key = ? "
            "AND value IN (SELECT value FROM json_each(?))",
            (collection, key, json.dumps(written)),
        )

    def _pairs(
        self, collection: int, held: Iterable[tuple[int, Metadata]]
    ) -> Iterator[tuple[int, int]]:
        for place, metadata in held:
            for key, value in _facts(metadata):
                yield self._number(collection, key, value), place

    def _number(self, collection: int, key: str, value: str) -> int:
        """The number of a fact, which is noted if it has not been met before."""
        fact = collection, key, value
        if fact not in self._known:
            self._writer.execute(
                "INSERT OR IGNORE INTO facts (collection, key, value) VALUES (?, ?, ?)", fact
            )
            query = "SELECT number FROM facts WHERE collection = ? AND key = ? AND value = ?"
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            (self._known[fact],) = self._writer.execute(query, fact).fetchone()
        return self._known[fact]


def _facts(metadata: Metadata) -> Iterator[tuple[str, str]]:
    """What is noted of a record: each key with its value, or that it is a long one."""
    for key, value in metadata.items():
        text = json.dumps(value)
        yield key, text if len(text) <= LONGEST else LONG


def _forms(value: Any) -> set[str]:
    """All ways in which a value that equals this one may be written: 1, 1.0 and true are equal."""
    forms = {json.dumps(value)}
    if isinstance(value, int | float):
        equal = [float(value), *([int(value)] if value == value // 1 else [])]
        forms |= {json.dumps(one) for one in (*equal, True, False) if one == value}
    return forms


def _is_known(places: Places | None) -> bool:
    return places is not None
