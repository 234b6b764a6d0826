"""Registry storage in one SQLite file in the home, without daemon or configuration.

The write-ahead log with `synchronous=FULL` puts acknowledged changes on the disk. A change
acquires the write lock before it reads (`BEGIN IMMEDIATE`), so no other thread or process can
write in between.
"""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from quinion.errors import RegistryUnavailable, StoreUnavailable
from quinion.model.policy import Policy, Revision
from quinion.model.revisions import Plan
from quinion.store.embedded.schema import check_version
from quinion.store.policies.base import Planner, PolicyStorage
from quinion.store.policies.rows import Plain, read_entry, row_of, warn_of_entry

BUSY_TIMEOUT_S = 10.0
RETRY_S = 0.01

_TABLES = (
    """
CREATE TABLE IF NOT EXISTS policies (
    source TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    category TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT
""",
    """
CREATE TABLE IF NOT EXISTS revisions (
    revision_id TEXT NOT NULL,
    source TEXT NOT NULL REFERENCES policies,
    version_label TEXT NOT NULL,
    effective_from TEXT NOT NULL,
    effective_to TEXT,
    status TEXT NOT NULL,
    file_path TEXT,
    file_size_bytes INTEGER,
    page_count INTEGER,
    chunk_count INTEGER NOT NULL,
    notes TEXT NOT NULL,
    created_at TEXT NOT NULL,
    ingested_at TEXT,
    error TEXT,
    PRIMARY KEY (source, revision_id)
) STRICT
""",
)
_ADDED = {"draft": "INTEGER", "closed": "TEXT"}
"""Columns of version 2."""
VERSION = 2
"""The version of this schema. Files of quinion 0.1 have the schema of version 1 as version 0."""

# One statement, so it sees one snapshot. A policy without revisions has one row with its name.
_REVISIONS = """
SELECT policies.source AS policy, revisions.* FROM policies
LEFT JOIN revisions ON revisions.source = policies.source
WHERE :source IS NULL OR policies.source = :source
"""


class SqliteStorage(PolicyStorage):
    """Storage with one connection, used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        with self._failures():
            self._database = _open(path)

    def add_policy(self, policy: Policy) -> bool:
        with self._transaction():
            return self._insert("INSERT OR IGNORE", "policies", row_of(policy)) == 1

    def read_policies(self, source: str | None = None) -> list[Policy]:
        query = "SELECT * FROM policies WHERE :source IS NULL OR source = :source"
        with self._transaction():
            rows = self._database.execute(query, {"source": source}).fetchall()
        return [read_entry(Policy, dict(row), f"{row['source']} in {self._path}") for row in rows]

    def read_revisions(self, source: str | None = None) -> dict[str, list[Revision]]:
        with self._transaction():
            return self._read_revisions(source)

    def change(self, source: str, planner: Planner, now: datetime) -> Plan | None:
        with self._transaction():
            touched = self._database.execute(
                "UPDATE policies SET updated_at = ? WHERE source = ?", (now.isoformat(), source)
            )
            if touched.rowcount == 0:
                return None
            plan = planner(self._read_revisions(source)[source])
            if plan.deletes:
                self._database.execute(
                    "DELETE FROM revisions WHERE source = ? AND revision_id = ?",
                    (source, plan.revision.revision_id),
                )
            for revision in plan.written:
                self._insert("REPLACE", "revisions", row_of(revision))
            return plan

    def delete_policy(self, source: str) -> bool:
        with self._transaction():
            self._database.execute("DELETE FROM revisions WHERE source = ?", (source,))
            deleted = self._database.execute("DELETE FROM policies WHERE source = ?", (source,))
            return deleted.rowcount == 1

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def _read_revisions(self, source: str | None) -> dict[str, list[Revision]]:
        found: dict[str, list[Revision]] = {}
        for row in self._database.execute(_REVISIONS, {"source": source}).fetchall():
            revisions = found.setdefault(row["policy"], [])
            if row["revision_id"] is not None:
                place = f"{row['policy']}, {row['revision_id']} in {self._path}"
                try:
                    revisions.append(read_entry(Revision, dict(row), place))
                except RegistryUnavailable as error:
                    if source is not None:
                        raise
                    warn_of_entry(place, error.message)
        return found

    def _insert(self, verb: str, table: str, row: dict[str, Plain]) -> int:
        columns, values = ", ".join(row), ", ".join(f":{name}" for name in row)
        # Verb, table and columns are constants of this module; the values are bound.
        statement = f"{verb} INTO {table} ({columns}) VALUES ({values})"
        return self._database.execute(statement, row).rowcount

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Transaction that starts with the first write: committed at the end of the block, or
        rolled back if it raises."""
        with self._lock, self._failures(), self._database:
            yield

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except StoreUnavailable as error:  # a newer quinion wrote the file
            raise RegistryUnavailable(error.message) from error
        except sqlite3.Error as error:
            raise RegistryUnavailable(
                f"The policy registry {self._path} cannot be used ({error}). "
                "Check that the disk is not full and that the folder is writable."
            ) from error


def _open(path: Path) -> sqlite3.Connection:
    with suppress(OSError):  # SQLite reports what is wrong with the folder
        path.touch(mode=0o600)  # SQLite creates its other files with the same mode
    database = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_S, check_same_thread=False, isolation_level="IMMEDIATE"
    )
    try:
        [(version,)] = database.execute("PRAGMA user_version")
        check_version(version, VERSION, path)
        database.row_factory = sqlite3.Row
        _switch_to_log(database)
        database.execute("PRAGMA synchronous=FULL")
        database.execute("PRAGMA foreign_keys=ON")
        if version < VERSION:
            _migrate(database)
    except BaseException:
        database.close()
        raise
    return database


def _migrate(database: sqlite3.Connection) -> None:
    """Create the tables or add what is missing; another process may have done so meanwhile."""
    with database:
        database.execute("BEGIN IMMEDIATE")
        for table in _TABLES:
            database.execute(table)
        known = {row["name"] for row in database.execute("PRAGMA table_info(revisions)")}
        for name, kind in _ADDED.items():
            if name not in known:
                database.execute(f"ALTER TABLE revisions ADD COLUMN {name} {kind}")
        database.execute(f"PRAGMA user_version={VERSION}")


def _switch_to_log(database: sqlite3.Connection) -> None:
    """Switch to WAL with retries: SQLite fails at once if another process writes a new file."""
    give_up_at = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            database.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up_at:
                raise
            time.sleep(RETRY_S)
        else:
            return
