"""Queries on `store.db`: rows as records and collections."""

import json
import sqlite3
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from quinion.errors import StoreUnavailable
from quinion.model.record import Metadata, Record
from quinion.store.base import Selector
from quinion.store.embedded.database import REPAIR
from quinion.store.embedded.metadata_index import find_candidates, is_exact
from quinion.store.embedded.vectors.vector_index import Collection
from quinion.store.filters import Where, matches

_ALL = "SELECT number, id, text, metadata, slot FROM records WHERE collection = ?"
_BY_ID = """
SELECT number, id, text, metadata, slot FROM records
WHERE collection = ? AND id IN (SELECT value FROM json_each(?))
"""
_BY_SLOT = """
SELECT number, id, text, metadata, slot FROM records
WHERE collection = ? AND slot IN (SELECT value FROM json_each(?))
"""
# Both read numbers from the index, so that the texts of other records cost nothing.
_PART = """
SELECT number, id, text, metadata, slot FROM records WHERE number IN (
    SELECT number FROM records INDEXED BY records_by_slot WHERE collection = ?
    ORDER BY number DESC LIMIT ? OFFSET ?
) ORDER BY number DESC
"""
_PLACES = "SELECT number, slot FROM records INDEXED BY records_by_slot WHERE collection = ?"
_BY_NUMBER = """
SELECT number, id, text, metadata, slot FROM records
WHERE number IN (SELECT value FROM json_each(?)) ORDER BY number DESC
"""
_AT_ONCE = 500
"""Candidates that are read at once, until enough of them match."""


class StoredRow:
    """A record with its slot."""

    __slots__ = ("record", "slot")

    def __init__(self, id_: str, text: str, metadata: str, slot: int) -> None:
        if not type(id_) is type(text) is type(metadata) is str:  # a flipped bit may change it
            raise StoreUnavailable(f"The record {id_!r} is damaged (not a text). {REPAIR}")
        try:
            self.record = Record(id_, text, json.loads(metadata))
        except ValueError as error:
            raise StoreUnavailable(f"The record {id_} is damaged ({error}). {REPAIR}") from error
        self.slot = slot


def find_collection(database: sqlite3.Connection, name: str) -> Collection | None:
    """Find a collection by its name."""
    query = "SELECT number, dimensions, model, centre, version FROM collections WHERE name = ?"
    for row in database.execute(query, (name,)):
        return Collection(*row)
    return None


def bump_version(database: sqlite3.Connection, name: str) -> Collection | None:
    """Increment a collection's version, by which readers cache; return the collection."""
    database.execute("UPDATE collections SET version = version + 1 WHERE name = ?", (name,))
    return find_collection(database, name)


def list_collections(database: sqlite3.Connection) -> list[str]:
    """The names of all collections, in the order of their creation."""
    return [name for (name,) in database.execute("SELECT name FROM collections ORDER BY number")]


def find_by_ids(database: sqlite3.Connection, number: int, ids: Sequence[str]) -> list[StoredRow]:
    """Find the records with these ids, in insertion order."""
    return _rows(database.execute(_BY_ID, (number, json.dumps(list(ids)))).fetchall())


def find_by_slots(
    database: sqlite3.Connection, number: int, slots: Sequence[int]
) -> list[StoredRow]:
    """Find the records at these slots, in insertion order."""
    return _rows(database.execute(_BY_SLOT, (number, json.dumps(list(slots)))).fetchall())


def find_matching(
    database: sqlite3.Connection, number: int, where: Where | None
) -> list[StoredRow]:
    """Find the records that match the filter, or all, in insertion order."""
    mask = None
    if where:
        mask = find_candidates(database, number, where, count_slots(database, number))
    if where is None or mask is None:
        found = _rows(database.execute(_ALL, (number,)).fetchall())
    else:
        found = find_by_slots(database, number, mask.nonzero()[0].tolist())
    return [row for row in found if not where or matches(row.record.metadata, where)]


def find_newest(
    database: sqlite3.Connection, number: int, offset: int, limit: int, where: Where | None
) -> list[StoredRow]:
    """Find a part of the records that match, newest first."""
    if not where:
        found = database.execute(_PART, (number, limit, offset)).fetchall()
        return [StoredRow(*row[1:]) for row in found]
    places = np.array(database.execute(_PLACES, (number,)).fetchall(), np.int64).reshape(-1, 2)
    mask = find_candidates(database, number, where, count_slots(database, number))
    if mask is not None:
        places = places[mask[places[:, 1]]]
    numbers = np.sort(places[:, 0])[::-1].tolist()
    if mask is not None and is_exact(database, number, where):
        numbers, offset = numbers[offset : offset + limit], 0
    candidates = (
        StoredRow(*row[1:])
        for start in range(0, len(numbers), _AT_ONCE)
        for row in database.execute(
            _BY_NUMBER, (json.dumps(numbers[start : start + _AT_ONCE]),)
        ).fetchall()
    )
    matching = (row for row in candidates if matches(row.record.metadata, where))
    return list(islice(matching, offset, offset + limit))


def find_rows(
    database: sqlite3.Connection, number: int, ids: Sequence[str] | None, where: Where | None
) -> list[StoredRow]:
    """Find the records with these ids, or all, that match the filter, in insertion order."""
    if ids is None:
        return find_matching(database, number, where)
    rows = find_by_ids(database, number, ids)
    return [row for row in rows if not where or matches(row.record.metadata, where)]


def find_selected(database: sqlite3.Connection, number: int, selector: Selector) -> list[StoredRow]:
    """Find the selected records, in insertion order."""
    if selector.ids is not None:
        return find_by_ids(database, number, selector.ids)
    return find_matching(database, number, selector.where)


def count_slots(database: sqlite3.Connection, number: int) -> int:
    """Count the slots up to the last one in use."""
    query = "SELECT max(slot) FROM records WHERE collection = ?"
    [(last,)] = database.execute(query, (number,))
    return 0 if last is None else int(last) + 1


def dump(metadata: Metadata) -> str:
    """Serialize metadata."""
    return json.dumps(dict(metadata), ensure_ascii=False)


def _rows(found: Sequence[Any]) -> list[StoredRow]:
    return [StoredRow(*row[1:]) for row in sorted(found)]
