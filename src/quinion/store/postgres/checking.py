"""Integrity check of a collection: records, vectors, the form for filters, and the keyword index.

PostgreSQL has checksums of its own for damaged pages, so records have none here.
"""

import json
from typing import Any

from psycopg import Connection
from psycopg.sql import SQL

from quinion.lexical.tokens import ANALYSIS
from quinion.store.base import IntegrityReport
from quinion.store.checksum import sum_record
from quinion.store.keywords.sums import SUMS, sum_lengths, sum_postings, sum_records
from quinion.store.postgres import keyword_index
from quinion.store.postgres.rows import (
    Collection,
    find_collection,
    list_collections,
    lock_collection,
    scan,
)
from quinion.store.postgres.schema import tables
from quinion.store.postgres.values import dump_filterable

_VECTORS = SQL("SELECT slot, vector FROM {vectors} WHERE slot = ANY(%s)")
_COUNT = SQL("SELECT count(*) FROM {records}")
_MISSING = SQL("""
SELECT count(*) FROM {records} WHERE NOT EXISTS
    (SELECT FROM {vectors} WHERE {vectors}.slot = {records}.slot)
""")
_ORPHANS = """FROM {vectors} WHERE NOT EXISTS
    (SELECT FROM {records} WHERE {vectors}.slot = {records}.slot)"""
_COUNT_ORPHANS = SQL(f"SELECT count(*) {_ORPHANS}")
_DELETE_ORPHANS = SQL(f"DELETE {_ORPHANS}")
_FILTERABLE = SQL("SELECT filterable::text FROM {records} WHERE slot = ANY(%s) ORDER BY number")
_CORRECT = SQL("UPDATE {records} SET filterable = %s WHERE slot = %s AND filterable <> %s::jsonb")
_FREE_ALL = SQL("DELETE FROM {lengths}")


def check(connection: Connection[Any], name: str) -> IntegrityReport:
    """Check a collection; a missing one is intact."""
    found = find_collection(connection, name)
    if found is None:
        return IntegrityReport()
    names = tables(found.number)
    [(records,)] = connection.execute(_COUNT.format(**names)).fetchall()
    [(missing,)] = connection.execute(_MISSING.format(**names)).fetchall()
    [(orphans,)] = connection.execute(_COUNT_ORPHANS.format(**names)).fetchall()
    problems = []
    if records != found.records:
        problems.append(f"there are {records:,} records, but {found.records:,} were counted")
    if missing:
        problems.append(
            f"{missing:,} records have no vector: delete their documents and ingest them again"
        )
    if orphans:
        problems.append(f"{orphans:,} vectors have no record")
    is_filterable, words = _read_all(connection, found)
    if not is_filterable:
        problems.append("the metadata for filters does not match the records")
    if words != _sum_index(connection, found.number):
        problems.append("the keyword index does not match the records")
    return IntegrityReport(records, tuple(f"{name}: {one}" for one in problems))


def repair(connection: Connection[Any], name: str) -> IntegrityReport:
    """Check a collection, and rebuild from its records what does not match them."""
    found = lock_collection(connection, name)
    before = check(connection, name)
    if found is None or not before.problems:
        return before
    names = tables(found.number)
    connection.execute(_DELETE_ORPHANS.format(**names))
    for step in scan(connection, found.number):
        forms = [(dump_filterable(record.metadata), slot) for slot, record in step]
        rows = [(form, slot, form) for form, slot in forms]
        connection.cursor().executemany(_CORRECT.format(**names), rows)
    _rebuild_keywords(connection, found.number)
    connection.execute(
        "UPDATE collections SET version = version + 1, records = %s WHERE number = %s",
        (before.records, found.number),
    )
    after = check(connection, name)
    repaired = tuple(line for line in before.problems if line not in after.problems)
    return IntegrityReport(after.records, after.problems, repaired=repaired)


def sum_contents(connection: Connection[Any], number: int) -> dict[str, int]:
    """Compute the checksums of all records with their vectors, in insertion order."""
    sums: dict[str, int] = {}
    for step in scan(connection, number):
        slots = [slot for slot, _ in step]
        rows = connection.execute(_VECTORS.format(**tables(number)), (slots,), binary=True)
        vectors = dict(rows.fetchall())
        sums |= {one.id: sum_record(one, vectors[slot]) for slot, one in step if slot in vectors}
    return sums


def rebuild_outdated(connection: Connection[Any]) -> None:
    """Rebuild the keyword indexes that an earlier analysis of texts made."""
    for name in list_collections(connection):
        found = find_collection(connection, name)
        if found is None or found.analysis >= ANALYSIS:
            continue
        found = lock_collection(connection, name)
        if found and found.analysis < ANALYSIS:  # no other engine has rebuilt it meanwhile
            _rebuild_keywords(connection, found.number)
            connection.execute(
                "UPDATE collections SET version = version + 1, analysis = %s WHERE number = %s",
                (ANALYSIS, found.number),
            )


def _rebuild_keywords(connection: Connection[Any], number: int) -> None:
    keyword_index.clear(connection, number)
    connection.execute(_FREE_ALL.format(**tables(number)))
    for step in scan(connection, number):
        keyword_index.change(connection, number, added=step)


def _read_all(connection: Connection[Any], collection: Collection) -> tuple[bool, int]:
    """Read all records: whether their metadata for filters is right, and the sum of their words."""
    lengths = keyword_index.read_lengths(connection, collection.number)
    query = _FILTERABLE.format(**tables(collection.number))
    is_filterable, words = True, 0
    for step in scan(connection, collection.number):
        rows = connection.execute(query, ([slot for slot, _ in step],)).fetchall()
        wanted = [json.loads(dump_filterable(record.metadata)) for _, record in step]
        is_filterable = is_filterable and [json.loads(form) for (form,) in rows] == wanted
        words += sum_records(step, lengths)
    return is_filterable, words % SUMS


def _sum_index(connection: Connection[Any], number: int) -> int:
    total = sum_lengths(keyword_index.read_lengths(connection, number))
    for term, postings in keyword_index.read_all_postings(connection, number):
        total += sum_postings(term, postings)
    return total % SUMS
