"""Queries on a collection's tables: rows as records, and collections."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from psycopg import Connection
from psycopg.sql import SQL, Composable

from quinion.lexical.tokens import ANALYSIS
from quinion.model.record import Record
from quinion.store.base import Selector
from quinion.store.filters import Where
from quinion.store.keywords.postings import Slots
from quinion.store.postgres.filters import Condition, uses_index
from quinion.store.postgres.schema import tables
from quinion.store.postgres.values import decode_text, encode_wanted

_COLLECTION = """
SELECT number, dimensions, model, version, records, analysis, indexed FROM collections
WHERE name = %s
"""
_LOCK = f"{_COLLECTION} FOR NO KEY UPDATE"
_SELECT = SQL("SELECT slot, id, text, metadata FROM {records} WHERE {condition} ORDER BY number")
_NEWEST = SQL("""
SELECT slot, id, text, metadata FROM {records} WHERE {condition}
ORDER BY number DESC LIMIT %(limit)s OFFSET %(offset)s
""")
_COUNT = SQL("SELECT count(*) FROM {records} WHERE {condition}")
_SLOTS = SQL("SELECT slot FROM {records} WHERE {condition} LIMIT %(slot_limit)s")
_BY_ID = SQL("(id = ANY(%(ids)s) AND {condition})")
_BY_SLOT = SQL("SELECT slot, id, text, metadata FROM {records} WHERE slot = ANY(%s)")
_MATCHING = SQL("SELECT slot FROM {records} WHERE slot = ANY(%(slots)s) AND {condition}")
MAX_FEW = 2_000
"""Number of records that match a filter, up to which all of them are compared."""
_SCAN = 2_000
"""Rows that are fetched at once when a collection is read from beginning to end."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Row of the table of collections. `indexed`: there is an HNSW index on the vectors."""

    number: int
    dimensions: int
    model: str
    version: int
    records: int
    analysis: int
    indexed: bool


def find_collection(connection: Connection[Any], name: str) -> Collection | None:
    """Find a collection by its name."""
    row = connection.execute(_COLLECTION, (encode_wanted(name),)).fetchone()
    return Collection(*row) if row else None


def lock_collection(connection: Connection[Any], name: str) -> Collection | None:
    """Find a collection, and lock it for other writers until the end of the transaction."""
    row = connection.execute(_LOCK, (encode_wanted(name),)).fetchone()
    return Collection(*row) if row else None


def list_collections(connection: Connection[Any]) -> list[str]:
    """The names of all collections, in the order of their creation."""
    rows = connection.execute("SELECT name FROM collections ORDER BY number").fetchall()
    return [decode_text(name) for (name,) in rows]


def find_selected(
    connection: Connection[Any],
    number: int,
    ids: Sequence[str] | None = None,
    where: Where | None = None,
) -> list[tuple[int, Record]]:
    """Find the records with these ids that match the filter, with their slots, in insertion
    order."""
    condition, parameters = _condition(ids, where)
    query = _SELECT.format(condition=condition, **tables(number))
    return [to_record(row) for row in connection.execute(query, parameters).fetchall()]


def find_newest(
    connection: Connection[Any], number: int, offset: int, limit: int, where: Where | None
) -> list[Record]:
    """Find a part of the records that match the filter, newest first."""
    condition = Condition(where)
    query = _NEWEST.format(condition=condition.sql, **tables(number))
    parameters = {**condition.parameters, "limit": limit, "offset": offset}
    return [to_record(row)[1] for row in connection.execute(query, parameters).fetchall()]


def count_selected(connection: Connection[Any], number: int, selector: Selector) -> int:
    """Count the selected records."""
    condition, parameters = _condition(selector.ids, selector.where)
    query = _COUNT.format(condition=condition, **tables(number))
    [(found,)] = connection.execute(query, parameters).fetchall()
    return int(found)


def find_by_slots(connection: Connection[Any], number: int, slots: Slots) -> dict[int, Record]:
    """Find the records at these slots."""
    rows = connection.execute(_BY_SLOT.format(**tables(number)), (slots.tolist(),)).fetchall()
    return dict(map(to_record, rows))


def find_few(connection: Connection[Any], number: int, where: Where | None) -> Slots | None:
    """Find the slots of the records that match the filter; `None` if they are not few, or if the
    filter has nothing that an index finds them by."""
    if not where or not uses_index(where):
        return None
    condition = Condition(where)
    query = _SLOTS.format(condition=condition.sql, **tables(number))
    rows = connection.execute(query, {**condition.parameters, "slot_limit": MAX_FEW + 1}).fetchall()
    return None if len(rows) > MAX_FEW else _to_slots(rows)


def find_matching(connection: Connection[Any], number: int, where: Where, slots: Slots) -> Slots:
    """Find which of these slots have a record that matches the filter."""
    condition = Condition(where)
    query = _MATCHING.format(condition=condition.sql, **tables(number))
    parameters = {**condition.parameters, "slots": slots.tolist()}
    return _to_slots(connection.execute(query, parameters).fetchall())


def scan(connection: Connection[Any], number: int) -> Iterator[list[tuple[int, Record]]]:
    """Read all records, a batch at a time. The connection has a transaction open."""
    query = _SELECT.format(condition=SQL("true"), **tables(number))
    with connection.cursor("scan") as cursor:
        cursor.execute(query)
        while rows := cursor.fetchmany(_SCAN):
            yield [to_record(row) for row in rows]


def to_record(row: Sequence[Any]) -> tuple[int, Record]:
    """Convert a row to a record with its slot."""
    slot, id_, text, metadata = row
    return slot, Record(decode_text(id_), decode_text(text), json.loads(metadata))


def is_current(collection: Collection) -> bool:
    """Whether this version of quinion analyses texts as the collection's keyword index has them."""
    return collection.analysis == ANALYSIS


def _condition(
    ids: Sequence[str] | None, where: Where | None
) -> tuple[Composable, dict[str, object]]:
    condition = Condition(where)
    parameters: dict[str, object] = {**condition.parameters}
    if ids is None:
        return condition.sql, parameters
    parameters["ids"] = [encode_wanted(id_) for id_ in ids]
    return _BY_ID.format(condition=condition.sql), parameters


def _to_slots(rows: Iterable[Sequence[int]]) -> Slots:
    return np.array(sorted(slot for (slot,) in rows), np.int64)
