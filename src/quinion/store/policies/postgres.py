"""Registry storage in PostgreSQL, in the database of the store.

A change locks the policy's row before it reads, so no other process can write in between.
Acknowledged changes survive a crash of the server, unless it has `synchronous_commit=off`.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import psycopg
from psycopg import Connection
from psycopg.rows import dict_row
from psycopg.sql import SQL, Composed, Identifier, Placeholder

from quinion.errors import RegistryUnavailable, StoreUnavailable
from quinion.model.policy import Policy, Revision
from quinion.model.revisions import Plan
from quinion.store.policies.base import Planner, PolicyStorage
from quinion.store.policies.rows import Plain, read_entry, row_of, warn_of_entry
from quinion.store.postgres.database import (
    configure,
    connect,
    describe_address,
    explain,
    parse_url,
)
from quinion.store.postgres.pool import begin, end
from quinion.store.postgres.schema import migrate
from quinion.store.postgres.values import decode_text, encode_text, encode_wanted

TIMEOUT_S = 30

# One statement, so it sees one snapshot. A policy without revisions has one row with its name.
_REVISIONS = """
SELECT policies.source AS policy, revisions.* FROM policies
LEFT JOIN revisions ON revisions.source = policies.source
WHERE %(source)s::text IS NULL OR policies.source = %(source)s
"""
_POLICIES = "SELECT * FROM policies WHERE %(source)s::text IS NULL OR source = %(source)s"
_DELETE = "DELETE FROM revisions WHERE source = %s AND revision_id = %s"

Row = dict[str, Plain]


class PostgresStorage(PolicyStorage):
    """Storage with one connection, opened at the first use, and used by one thread at a time."""

    def __init__(self, url: str) -> None:
        self._options = parse_url(url)
        self._address = describe_address(self._options)
        self._lock = threading.Lock()
        self._connection: Connection[Any] | None = None

    def add_policy(self, policy: Policy) -> bool:
        with self._transaction() as connection:
            statement = _insert("policies", row_of(policy), ("source",), replace=False)
            return connection.execute(statement, _encode(row_of(policy))).rowcount == 1

    def read_policies(self, source: str | None = None) -> list[Policy]:
        with self._transaction() as connection:
            rows = _read(connection, _POLICIES, source)
        return [read_entry(Policy, row, f"{row['source']} in {self._address}") for row in rows]

    def read_revisions(self, source: str | None = None) -> dict[str, list[Revision]]:
        with self._transaction() as connection:
            return self._read_revisions(connection, source)

    def change(self, source: str, planner: Planner, now: datetime) -> Plan | None:
        wanted = encode_wanted(source)
        with self._transaction() as connection:
            touched = connection.execute(
                "UPDATE policies SET updated_at = %s WHERE source = %s", (now.isoformat(), wanted)
            )
            if touched.rowcount == 0:
                return None
            plan = planner(self._read_revisions(connection, source)[source])
            if plan.deletes:
                connection.execute(_DELETE, (wanted, encode_wanted(plan.revision.revision_id)))
            for revision in plan.written:
                row = row_of(revision)
                statement = _insert("revisions", row, ("source", "revision_id"), replace=True)
                connection.execute(statement, _encode(row))
            return plan

    def delete_policy(self, source: str) -> bool:
        wanted = (encode_wanted(source),)
        with self._transaction() as connection:
            # The policy is locked first, as in a change: otherwise one could add a revision.
            connection.execute("SELECT FROM policies WHERE source = %s FOR UPDATE", wanted)
            connection.execute("DELETE FROM revisions WHERE source = %s", wanted)
            return (
                connection.execute("DELETE FROM policies WHERE source = %s", wanted).rowcount == 1
            )

    def close(self) -> None:
        with self._lock:
            if self._connection:
                self._connection.close()

    def _read_revisions(
        self, connection: Connection[Any], source: str | None
    ) -> dict[str, list[Revision]]:
        found: dict[str, list[Revision]] = {}
        for row in _read(connection, _REVISIONS, source):
            revisions = found.setdefault(str(row["policy"]), [])
            if row["revision_id"] is not None:
                place = f"{row['policy']}, {row['revision_id']} in {self._address}"
                try:
                    revisions.append(read_entry(Revision, row, place))
                except RegistryUnavailable as error:
                    if source is not None:
                        raise
                    warn_of_entry(place, error.message)
        return found

    @contextmanager
    def _transaction(self) -> Iterator[Connection[Any]]:
        """Transaction: committed at the end of the block, or rolled back if it raises."""
        with self._lock, self._failures():
            try:
                self._connection = begin(self._connection, "BEGIN", self._connect)
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                self._connection = end(self._connection)

    def _connect(self) -> Connection[Any]:
        connection = connect(self._options)
        try:
            migrate(connection, self._address)
            configure(connection, TIMEOUT_S)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except StoreUnavailable as error:  # a newer quinion wrote the schema
            raise RegistryUnavailable(error.message) from error
        except psycopg.Error as error:
            raise RegistryUnavailable(
                f"The policy registry cannot be used. {explain(error, self._address)}"
            ) from error


def _read(connection: Connection[Any], query: str, source: str | None) -> list[Row]:
    wanted = None if source is None else encode_wanted(source)
    with connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(query.encode(), {"source": wanted}).fetchall()
    return [{name: _decode(value) for name, value in row.items()} for row in rows]


def _insert(table: str, row: Row, key: tuple[str, ...], *, replace: bool) -> Composed:
    """Statement that inserts a row; another one with this key is replaced, or else kept."""
    columns = [Identifier(name) for name in row]
    sets = [SQL("{0} = excluded.{0}").format(column) for column in columns]
    return SQL("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT ({}) {}").format(
        Identifier(table),
        SQL(", ").join(columns),
        SQL(", ").join(map(Placeholder, row)),
        SQL(", ").join(map(Identifier, key)),
        SQL("DO UPDATE SET {}").format(SQL(", ").join(sets)) if replace else SQL("DO NOTHING"),
    )


def _encode(row: Row) -> Row:
    return {key: encode_text(one) if isinstance(one, str) else one for key, one in row.items()}


def _decode(value: Plain) -> Plain:
    return decode_text(value) if isinstance(value, str) else value
