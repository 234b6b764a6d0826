"""Inverted metadata index: for each metadata value, the slots of the records that have it.

A filter is evaluated on the distinct values instead of on every record. The result is a set of
candidates that includes all matching records; the filter is then applied to the candidates.
Changes use the writer's connection, inside a transaction; queries use a reader's.
"""

import json
import operator
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from quinion.errors import StoreUnavailable
from quinion.model.record import Metadata, Scalar
from quinion.store.embedded.bitmap import BLOCK, Mask, set_bits, unpack, update
from quinion.store.embedded.database import REPAIR
from quinion.store.filters import NEGATIONS, Where, as_operators, passes

MAX_VALUE_CHARACTERS = 256
"""Longer values are not indexed, and filters on them read the records."""
LONG = "long"
ALL = "", "all"
"""Key and value of an entry that every record has."""

Indexed = Iterable[tuple[int, Metadata]]
"""Records as pairs of slot and metadata."""
Posting = tuple[int, str, str]
"""Block number, key and value: a block of the slots that have this value."""
_POSTING = """
SELECT slots, number FROM metadata_values AS entries
LEFT JOIN metadata_postings AS postings ON postings.value = number AND block = ?
WHERE collection = ? AND key = ? AND entries.value = ?
"""


def change(
    database: sqlite3.Connection, collection: int, *, removed: Indexed = (), added: Indexed = ()
) -> None:
    """Remove records from the index, and add records whose slots are not in it (any more)."""
    wanted: dict[Posting, tuple[list[int], list[int]]] = {}
    for records, side in ((removed, 0), (added, 1)):
        for key, value, slot in entries(records):
            sides = wanted.setdefault((slot // BLOCK, key, value), ([], []))
            sides[side].append(slot % BLOCK)
    database.executemany(
        "INSERT OR IGNORE INTO metadata_values (collection, key, value) VALUES (?, ?, ?)",
        [(collection, key, value) for (_, key, value), (_, more) in wanted.items() if more],
    )
    with decoding():
        changed = [
            (update(old or b"", less, more), number, block)
            for (block, key, value), (less, more) in wanted.items()
            if less != more
            for old, number in database.execute(_POSTING, (block, collection, key, value))
        ]
    database.executemany(
        "INSERT OR REPLACE INTO metadata_postings (slots, value, block) VALUES (?, ?, ?)", changed
    )
    empty = [(value, block) for slots, value, block in changed if not slots]
    database.executemany("DELETE FROM metadata_postings WHERE value = ? AND block = ?", empty)
    database.executemany(
        "DELETE FROM metadata_values WHERE number = ? AND NOT EXISTS "
        "(SELECT 1 FROM metadata_postings WHERE value = metadata_values.number)",
        [(value,) for value, _ in empty],
    )


def drop(database: sqlite3.Connection, collection: int) -> None:
    """Drop the index of a collection."""
    database.execute(
        "DELETE FROM metadata_postings "
        "WHERE value IN (SELECT number FROM metadata_values WHERE collection = ?)",
        (collection,),
    )
    database.execute("DELETE FROM metadata_values WHERE collection = ?", (collection,))


def entries(records: Indexed) -> Iterator[tuple[str, str, int]]:
    """The index entries of records as key, value and slot: one for the record's existence, and one
    for each key, with its value or `LONG`."""
    for slot, metadata in records:
        yield *ALL, slot
        for key, value in metadata.items():
            is_long = isinstance(value, str) and len(value) > MAX_VALUE_CHARACTERS
            yield key, LONG if is_long else _json_form(value), slot


@lru_cache(4096, typed=True)
def _json_form(value: Scalar) -> str:
    """The JSON form of a value, under which it is indexed."""
    text = json.dumps(value)
    return text if len(text) <= MAX_VALUE_CHARACTERS else LONG


def read_entries(database: sqlite3.Connection, collection: int) -> Iterator[tuple[str, str, int]]:
    """Read all index entries of a collection, in any order."""
    query = (
        "SELECT key, entries.value, block, slots FROM metadata_values AS entries "
        "JOIN metadata_postings AS postings ON postings.value = entries.number "
        "WHERE collection = ?"
    )
    for key, value, block, slots in database.execute(query, (collection,)):
        with decoding():
            for slot in np.flatnonzero(unpack(slots)).tolist():
                yield key, value, block * BLOCK + slot


@contextmanager
def decoding() -> Iterator[None]:
    """Report decoding errors as damage: a flipped bit may change a value or its type.

    Raises:
        StoreUnavailable: a value can't be decoded.
    """
    try:
        yield
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        raise StoreUnavailable(f"The store is damaged ({error!r}). {REPAIR}") from error


def all_slots(database: sqlite3.Connection, collection: int, size: int) -> Mask:
    """The slots of all records of a collection, as a mask of that size."""
    query = "SELECT number FROM metadata_values WHERE collection = ? AND key = ? AND value = ?"
    found = database.execute(query, (collection, *ALL)).fetchall()
    return _mask(database, [number for (number,) in found], size)


def find_candidates(
    database: sqlite3.Connection, collection: int, where: Where, size: int
) -> Mask | None:
    """Find the slots of all records that match, and perhaps of others; `None` if the index can't
    narrow the filter down."""
    parts: list[Mask | None] = []
    for key, condition in where.items():
        if key in ("$and", "$or"):
            some = [find_candidates(database, collection, part, size) for part in condition]
            parts += some if key == "$and" else [_union(some, size)]
        else:
            parts += [
                _find_by_operator(database, collection, key, name, operand, size)
                for name, operand in as_operators(condition).items()
            ]
    known = [part for part in parts if part is not None]
    return reduce(operator.and_, known) if known else None


def is_exact(database: sqlite3.Connection, collection: int, where: Where) -> bool:
    """Whether the candidates for a filter all match it: no key in it has long values."""
    query = "SELECT 1 FROM metadata_values WHERE collection = ? AND key = ? AND value = ?"
    for key, condition in where.items():
        if key in ("$and", "$or"):
            if not all(is_exact(database, collection, part) for part in condition):
                return False
        elif database.execute(query, (collection, key, LONG)).fetchone():
            return False
    return True


def _union(parts: list[Mask | None], size: int) -> Mask | None:
    known = [part for part in parts if part is not None]
    nothing = np.zeros(size, np.bool_)
    return reduce(operator.or_, known, nothing) if len(known) == len(parts) else None


def _find_by_operator(
    database: sqlite3.Connection, collection: int, key: str, name: str, operand: Any, size: int
) -> Mask | None:
    """Find candidates by one operator on one key."""
    positive = NEGATIONS.get(name, name)
    values = _values(database, collection, key, positive, operand)
    short = [entry for entry in values if entry[1] not in (LONG, ALL[1])]
    with decoding():
        read = json.loads(f"[{','.join(value for _, value in short)}]")
        pairs = zip(short, read, strict=True)
        chosen = [number for (number, _), value in pairs if passes(value, positive, operand)]
    mask = _mask(database, chosen, size)
    if name in NEGATIONS:
        return all_slots(database, collection, size) & ~mask  # any long value may match
    return None if any(value == LONG for _, value in values) else mask


def _mask(database: sqlite3.Connection, values: list[int], size: int) -> Mask:
    """The slots with one of these values, as a mask."""
    mask = np.zeros(size, np.bool_)
    query = (
        "SELECT block, slots FROM metadata_postings WHERE value IN (SELECT value FROM json_each(?))"
    )
    blocks: dict[int, list[bytes]] = {}
    for number, slots in database.execute(query, (json.dumps(values),)):
        blocks.setdefault(number, []).append(slots)
    with decoding():
        for number, some in blocks.items():
            set_bits(mask, number, some)
    return mask


def _values(
    database: sqlite3.Connection, collection: int, key: str, name: str, operand: Any
) -> list[Any]:
    """Read the values of a key that may match, limited to known JSON forms where possible."""
    query = "SELECT number, value FROM metadata_values WHERE collection = ? AND key = ?"
    known: list[str] = []
    if name == "$contains":
        # The JSON form of a text contains the JSON form of its parts.
        query += f" AND (instr(value, ?) OR value = '{LONG}')"
        known = [json.dumps(operand)[1:-1]]
    elif name in ("$eq", "$in"):
        query += " AND value IN (SELECT value FROM json_each(?))"
        operands = operand if name == "$in" else [operand]
        known = [json.dumps([LONG, *(form for one in operands for form in _json_forms(one))])]
    return database.execute(query, (collection, key, *known)).fetchall()


def _json_forms(value: Any) -> set[str]:
    """All JSON forms of values that equal this one: 1, 1.0 and true are equal."""
    forms = {json.dumps(value)}
    if isinstance(value, int | float):
        equal = [float(value), *([int(value)] if value == value // 1 else [])]
        forms |= {json.dumps(one) for one in (*equal, 0.0, -0.0, True, False) if one == value}
    return forms
