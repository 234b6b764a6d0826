"""Facts: each value that metadata has, noted once, with the places of the records that have it.

So a filter is asked of the different values and not of every record. What is found this way are
candidates: all that match are among them, and the records themselves decide.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from quinion.model.record import Metadata
from quinion.store.filters import NEGATIONS, Where, as_operators, passes
from quinion.store.places import BLOCK, Mask, add, lay, numbers, remove

SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (
    number INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (collection, key, value)
);
CREATE TABLE IF NOT EXISTS holders (
    fact INTEGER NOT NULL, block INTEGER NOT NULL, places BLOB NOT NULL, PRIMARY KEY (fact, block)
) WITHOUT ROWID;
"""
LONGEST = 256
"""Characters. Longer values are not noted, and filters on them read the records."""
LONG = "long"
ALL = "", "all"
"""What every record has."""
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
        """Note what the records at these places have, of whom nothing is noted."""
        for number, wanted in self._by_block(collection, held):
            old = self._blocks(number, wanted)
            self._writer.executemany(
                "INSERT OR REPLACE INTO holders (fact, block, places) VALUES (?, ?, ?)",
                [
                    (fact, number, add(old.get(fact, b""), places))
                    for fact, places in wanted.items()
                ],
            )

    def forget(self, collection: int, held: Iterable[tuple[int, Metadata]]) -> None:
        """Take back what was noted of the records at these places."""
        for number, wanted in self._by_block(collection, held):
            left = {
                fact: remove(block, wanted[fact])
                for fact, block in self._blocks(number, wanted).items()
            }
            self._writer.executemany(
                "UPDATE holders SET places = ? WHERE fact = ? AND block = ?",
                [(block, fact, number) for fact, block in left.items() if block],
            )
            self._writer.executemany(
                "DELETE FROM holders WHERE fact = ? AND block = ?",
                [(fact, number) for fact, block in left.items() if not block],
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

    def everybody(self, collection: int, size: int) -> Mask:
        """Where the collection has records, on a mask of that size."""
        written = (collection, *ALL)
        query = "SELECT number FROM facts WHERE collection = ? AND key = ? AND value = ?"
        return self._lay([number for (number,) in self._read(query, written)], size)

    def candidates(self, collection: int, where: Where, size: int) -> Mask | None:
        """Where all records are that match, and perhaps others; None if it can only be told
        from the records themselves."""
        found: Mask | None = None
        for key, condition in where.items():
            for part in self._narrow(collection, key, condition, size):
                if part is not None:
                    found = part if found is None else found & part
        return found

    def _narrow(
        self, collection: int, key: str, condition: Any, size: int
    ) -> Iterator[Mask | None]:
        """Candidates by one part of a filter; of several, each alone would do."""
        if key == "$and":
            for part in condition:
                yield self.candidates(collection, part, size)
        elif key == "$or":
            parts = [self.candidates(collection, part, size) for part in condition]
            known = [part for part in parts if part is not None]
            yield np.logical_or.reduce(known) if len(known) == len(parts) else None
        else:
            for name, operand in as_operators(condition).items():
                if name in NEGATIONS:
                    # Those that are known to have it; whoever has a long value may not.
                    holders, _ = self._holders(collection, key, NEGATIONS[name], operand, size)
                    yield ~holders
                else:
                    holders, complete = self._holders(collection, key, name, operand, size)
                    yield holders if complete else None

    def _holders(
        self, collection: int, key: str, name: str, operand: Any, size: int
    ) -> tuple[Mask, bool]:
        """Who has a value of this key that passes, and whether these are all."""
        values = self._values(collection, key, name, operand)
        short = [(fact, value) for fact, value in values if value not in (LONG, ALL[1])]
        chosen = [fact for fact, value in short if passes(json.loads(value), name, operand)]
        return self._lay(chosen, size), all(value != LONG for _, value in values)

    def _lay(self, facts: Sequence[int], size: int) -> Mask:
        """Who has one of these facts."""
        mask = np.zeros(size, np.bool_)
        query = "SELECT block, places FROM holders WHERE fact IN (SELECT value FROM json_each(?))"
        for number, block in self._read(query, (json.dumps(facts),)):
            lay(mask, number, block)
        return mask

    def _values(self, collection: int, key: str, name: str, operand: Any) -> list[Any]:
        """The facts of a key that may pass: where it is known how they are written, these alone."""
        if name == "$contains":
            # What a text has in it is in what is written of it too.
            return self._read(
                "SELECT number, value FROM facts WHERE collection = ? AND key = ? "
                "AND (instr(value, ?) OR value = ?)",
                (collection, key, json.dumps(operand)[1:-1], LONG),
            )
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

    def _by_block(
        self, collection: int, held: Iterable[tuple[int, Metadata]]
    ) -> Iterable[tuple[int, dict[int, list[int]]]]:
        """The facts of these records with who has them, block by block."""
        blocks: dict[int, dict[int, list[int]]] = {}
        for place, metadata in held:
            number, rest = divmod(place, BLOCK)
            block = blocks.setdefault(number, {})
            for key, value in _facts(metadata):
                block.setdefault(self._number(collection, key, value), []).append(rest)
        return blocks.items()

    def _blocks(self, number: int, facts: Iterable[int]) -> dict[int, bytes]:
        """What is noted of these facts in one block."""
        query = (
            "SELECT fact, places FROM json_each(?) JOIN holders "
            "ON fact = json_each.value AND block = ?"
        )
        return dict(self._writer.execute(query, (json.dumps(list(facts)), number)))

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
    """What is noted of a record: that it is there, and each key with its value, or that it is a
    long one."""
    yield ALL
    for key, value in metadata.items():
        text = json.dumps(value)
        yield key, text if len(text) <= LONGEST else LONG


def fingerprint_records(held: Iterable[tuple[int, Metadata]]) -> int:
    """A number that tells what should be noted of records at these places; those of several lots
    are added up."""
    pairs = [(crc32(f"{k}\0{v}".encode()), place) for place, m in held for k, v in _facts(m)]
    return _mix(*np.array(pairs, np.uint64).reshape(-1, 2).T)


def fingerprint_holders(database: sqlite3.Connection, collection: int) -> int:
    """The same number, of what is noted; the connection gives texts as bytes."""
    total = 0
    query = (
        "SELECT key, value, block, places FROM facts JOIN holders ON fact = number "
        "WHERE collection = ?"
    )
    for key, value, number, block in database.execute(query, (collection,)):
        places = numbers(block).astype(np.uint64) + np.uint64(number * BLOCK)
        total += _mix(np.full(len(places), crc32(key + b"\0" + value), np.uint64), places)
    return total


def _mix(facts: NDArray[np.uint64], places: NDArray[np.uint64]) -> int:
    """The sum of a number for each fact that a place has, as good as random (SplitMix64), so that
    two that were exchanged are noticed."""
    mixed = (facts << np.uint64(32)) ^ places
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return int(np.add.reduce(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64))


def _forms(value: Any) -> set[str]:
    """All ways in which a value that equals this one may be written: 1, 1.0 and true are equal."""
    forms = {json.dumps(value)}
    if isinstance(value, int | float):
        equal = [float(value), *([int(value)] if value == value // 1 else [])]
        forms |= {json.dumps(one) for one in (*equal, True, False) if one == value}
    return forms
