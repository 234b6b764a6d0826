"""Inverted metadata index: for each value that metadata has, the slots of the records that have it.

A filter is evaluated on the distinct values and not on every record. The result is a set of
candidates: all records that match are among them, and the records themselves decide.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from quinion.errors import StoreUnavailable
from quinion.model.record import Metadata
from quinion.store.embedded.bitmap import BLOCK, Mask, add, lay, numbers, remove
from quinion.store.embedded.database import REPAIR
from quinion.store.filters import NEGATIONS, Where, as_operators, passes

LONGEST = 256
"""Characters. Longer values are not indexed, and filters on them read the records."""
LONG = "long"
ALL = "", "all"
"""The value that every record has."""
MOST_CACHED = 200_000
"""Numbers of values that are cached, so that they are not looked up for each record."""


class MetadataIndex:
    """The index of all collections of a store, each by its number.

    Changes are made on the writer's connection, inside a transaction; queries on a reader's.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, str, str], int] = {}

    def add(
        self,
        database: sqlite3.Connection,
        collection: int,
        records: Iterable[tuple[int, Metadata]],
    ) -> None:
        """Index records by their slots; none of them is indexed yet."""
        for block, wanted in self._by_block(database, collection, records):
            old = _postings(database, block, wanted)
            with decoding():
                new = {value: add(old.get(value, b""), slots) for value, slots in wanted.items()}
            database.executemany(
                "INSERT OR REPLACE INTO metadata_postings (value, block, slots) VALUES (?, ?, ?)",
                [(value, block, slots) for value, slots in new.items()],
            )

    def remove(
        self,
        database: sqlite3.Connection,
        collection: int,
        records: Iterable[tuple[int, Metadata]],
    ) -> None:
        """Remove records from the index."""
        for block, wanted in self._by_block(database, collection, records):
            old = _postings(database, block, wanted)
            with decoding():
                left = {value: remove(slots, wanted[value]) for value, slots in old.items()}
            database.executemany(
                "UPDATE metadata_postings SET slots = ? WHERE value = ? AND block = ?",
                [(slots, value, block) for value, slots in left.items() if slots],
            )
            database.executemany(
                "DELETE FROM metadata_postings WHERE value = ? AND block = ?",
                [(value, block) for value, slots in left.items() if not slots],
            )

    def drop_unused(
        self, database: sqlite3.Connection, collection: int, removed: Iterable[Metadata]
    ) -> None:
        """Drop those of these values that no record has any more."""
        for key, value in {entry for metadata in removed for entry in _entries(metadata)}:
            database.execute(
                "DELETE FROM metadata_values WHERE collection = ? AND key = ? AND value = ? "
                "AND NOT EXISTS (SELECT 1 FROM metadata_postings AS postings "
                "WHERE postings.value = metadata_values.number)",
                (collection, key, value),
            )
            self._numbers.pop((collection, key, value), None)

    def drop(self, database: sqlite3.Connection, collection: int) -> None:
        """Drop the index of a collection."""
        database.execute(
            "DELETE FROM metadata_postings "
            "WHERE value IN (SELECT number FROM metadata_values WHERE collection = ?)",
            (collection,),
        )
        database.execute("DELETE FROM metadata_values WHERE collection = ?", (collection,))
        self.clear_cache()

    def clear_cache(self) -> None:
        """Forget cached numbers, which may have been rolled back."""
        self._numbers.clear()

    def _by_block(
        self,
        database: sqlite3.Connection,
        collection: int,
        records: Iterable[tuple[int, Metadata]],
    ) -> Iterable[tuple[int, dict[int, list[int]]]]:
        """The values of these records with the slots that have them, block by block."""
        blocks: dict[int, dict[int, list[int]]] = {}
        for slot, metadata in records:
            number, rest = divmod(slot, BLOCK)
            block = blocks.setdefault(number, {})
            for key, value in _entries(metadata):
                entry = self._number(database, collection, key, value)
                block.setdefault(entry, []).append(rest)
        return blocks.items()

    def _number(self, database: sqlite3.Connection, collection: int, key: str, value: str) -> int:
        """The number of a value, which is assigned if it is new."""
        entry = collection, key, value
        if entry not in self._numbers:
            database.execute(
                "INSERT OR IGNORE INTO metadata_values (collection, key, value) VALUES (?, ?, ?)",
                entry,
            )
            query = (
                "SELECT number FROM metadata_values WHERE collection = ? AND key = ? AND value = ?"
            )
            if len(self._numbers) >= MOST_CACHED:
                self._numbers.clear()
            (self._numbers[entry],) = database.execute(query, entry).fetchone()
        return self._numbers[entry]


@contextmanager
def decoding() -> Iterator[None]:
    """Report as damage what can't be decoded: a flipped bit may change a value or its type.

    Raises:
        StoreUnavailable: it can't.
    """
    try:
        yield
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        raise StoreUnavailable(f"The store is damaged ({error!r}). {REPAIR}") from error


def all_slots(database: sqlite3.Connection, collection: int, size: int) -> Mask:
    """The slots of all records of a collection, on a mask of that size."""
    query = "SELECT number FROM metadata_values WHERE collection = ? AND key = ? AND value = ?"
    found = database.execute(query, (collection, *ALL)).fetchall()
    return _mask(database, [number for (number,) in found], size)


def find_candidates(
    database: sqlite3.Connection, collection: int, where: Where, size: int
) -> Mask | None:
    """The slots of all records that match, and perhaps of others; None if only the records
    themselves can tell."""
    found: Mask | None = None
    for key, condition in where.items():
        for part in _narrow(database, collection, key, condition, size):
            if part is not None:
                found = part if found is None else found & part
    return found


def _narrow(
    database: sqlite3.Connection, collection: int, key: str, condition: Any, size: int
) -> Iterator[Mask | None]:
    """Candidates by one part of a filter; of several, all have to hold."""
    if key == "$and":
        for part in condition:
            yield find_candidates(database, collection, part, size)
    elif key == "$or":
        parts = [find_candidates(database, collection, part, size) for part in condition]
        known = [part for part in parts if part is not None]
        nothing = np.zeros(size, np.bool_)
        yield np.logical_or.reduce([nothing, *known]) if len(known) == len(parts) else None
    else:
        for name, operand in as_operators(condition).items():
            if name in NEGATIONS:
                # Those that certainly have the value; one with a long value may not have it.
                holders, _ = _holders(database, collection, key, NEGATIONS[name], operand, size)
                yield ~holders
            else:
                holders, complete = _holders(database, collection, key, name, operand, size)
                yield holders if complete else None


def _holders(
    database: sqlite3.Connection, collection: int, key: str, name: str, operand: Any, size: int
) -> tuple[Mask, bool]:
    """The slots whose value of this key passes, and whether these are all."""
    values = _values(database, collection, key, name, operand)
    short = [(number, value) for number, value in values if value not in (LONG, ALL[1])]
    with decoding():
        read = [(number, json.loads(value)) for number, value in short]
    chosen = [number for number, value in read if passes(value, name, operand)]
    return _mask(database, chosen, size), all(value != LONG for _, value in values)


def _mask(database: sqlite3.Connection, values: Sequence[int], size: int) -> Mask:
    """The slots that have one of these values."""
    mask = np.zeros(size, np.bool_)
    query = (
        "SELECT block, slots FROM metadata_postings WHERE value IN (SELECT value FROM json_each(?))"
    )
    for block, slots in database.execute(query, (json.dumps(values),)):
        with decoding():
            lay(mask, block, slots)
    return mask


def _values(
    database: sqlite3.Connection, collection: int, key: str, name: str, operand: Any
) -> list[Any]:
    """The values of a key that may pass: where their spelling is known, only these."""
    if name == "$contains":
        # The JSON form of a text contains the JSON form of its parts.
        return database.execute(
            "SELECT number, value FROM metadata_values WHERE collection = ? AND key = ? "
            "AND (instr(value, ?) OR value = ?)",
            (collection, key, json.dumps(operand)[1:-1], LONG),
        ).fetchall()
    if name not in ("$eq", "$in"):
        return database.execute(
            "SELECT number, value FROM metadata_values WHERE collection = ? AND key = ?",
            (collection, key),
        ).fetchall()
    operands = operand if name == "$in" else [operand]
    written = [LONG, *(form for one in operands for form in _forms(one))]
    return database.execute(
        "SELECT number, value FROM metadata_values WHERE collection = ? AND key = ? "
        "AND value IN (SELECT value FROM json_each(?))",
        (collection, key, json.dumps(written)),
    ).fetchall()


def _postings(database: sqlite3.Connection, block: int, values: Iterable[int]) -> dict[int, bytes]:
    """The slots of these values in one block."""
    query = (
        "SELECT postings.value, slots FROM json_each(?) JOIN metadata_postings AS postings "
        "ON postings.value = json_each.value AND block = ?"
    )
    return dict(database.execute(query, (json.dumps(list(values)), block)))


def _entries(metadata: Metadata) -> Iterator[tuple[str, str]]:
    """What is indexed of a record: that it exists, and each key with its value or that the value
    is a long one."""
    yield ALL
    for key, value in metadata.items():
        text = json.dumps(value)
        yield key, text if len(text) <= LONGEST else LONG


def sum_records(records: Iterable[tuple[int, Metadata]]) -> int:
    """A checksum of what should be indexed for records at these slots; checksums of several
    parts are added up."""
    pairs = [(crc32(f"{k}\0{v}".encode()), slot) for slot, m in records for k, v in _entries(m)]
    return _mix(*np.array(pairs, np.uint64).reshape(-1, 2).T)


def sum_index(database: sqlite3.Connection, collection: int) -> int:
    """The same checksum, of what is indexed; the connection returns texts as bytes."""
    total = 0
    query = (
        "SELECT key, entries.value, block, slots FROM metadata_values AS entries "
        "JOIN metadata_postings AS postings ON postings.value = entries.number "
        "WHERE collection = ?"
    )
    for key, value, number, block in database.execute(query, (collection,)):
        with decoding():
            slots = numbers(block).astype(np.uint64) + np.uint64(number * BLOCK)
            total += _mix(np.full(len(slots), crc32(key + b"\0" + value), np.uint64), slots)
    return total


def _mix(entries: NDArray[np.uint64], slots: NDArray[np.uint64]) -> int:
    """The sum of a pseudo-random number (SplitMix64) for each pair of entry and slot, so that
    exchanged pairs are noticed."""
    mixed = (entries << np.uint64(32)) ^ slots
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return int(np.add.reduce(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64))


def _forms(value: Any) -> set[str]:
    """All JSON forms of values that equal this one: 1, 1.0 and true are equal."""
    forms = {json.dumps(value)}
    if isinstance(value, int | float):
        equal = [float(value), *([int(value)] if value == value // 1 else [])]
        forms |= {json.dumps(one) for one in (*equal, 0.0, -0.0, True, False) if one == value}
    return forms
