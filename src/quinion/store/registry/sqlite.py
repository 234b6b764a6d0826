"""The registry as one SQLite file in the home: no daemon, nothing to configure.

Write-ahead log with `synchronous=FULL`: what was acknowledged is on the disk. A change
takes the write lock before it reads (`BEGIN IMMEDIATE`), so what it decides on is what it
changes, whichever thread or process comes second.
"""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import date, datetime
from pathlib import Path

from quinion.errors import RegistryUnavailable, StoreUnavailable
from quinion.model.policy import Policy, Revision
from quinion.model.revisions import Plan
from quinion.store.embedded.schema import check_version
from quinion.store.registry.port import Planner
from quinion.store.registry.rows import Plain, read_policy, read_revision, row_of

BUSY_TIMEOUT_S = 10.0
RETRY_S = 0.01

_SCHEMA = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS policies (
    source TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    category TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;
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
) STRICT;
PRAGMA user_version=1;
COMMIT;
"""
VERSION = 1
"""The version of this schema. Files of quinion 0.1 have it too, and say 0."""

_REVISIONS = """
SELECT * FROM revisions
WHERE (:source IS NULL OR source = :source)
AND (:started_by IS NULL OR effective_from <= :started_by)
"""


class SqliteShelves:
    """One connection, used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        with self._failures():
            self._database = _open(path)

    def add_policy(self, policy: Policy) -> bool:
        """Keep a new policy; False, and nothing done, where its source is taken."""
        with self._transaction("IMMEDIATE"):
            return self._insert("INSERT OR IGNORE", "policies", row_of(policy)) == 1

    def read_policies(self, source: str | None = None) -> list[Policy]:
        """All policies, or the one of that source, if there is one."""
        with self._transaction("DEFERRED"):
            return self._policies(source)

    def read_revisions(
        self, source: str | None = None, started_by: date | None = None
    ) -> dict[str, list[Revision]]:
        """The revisions of all policies or of one, by source; those begun by that day only."""
        with self._transaction("DEFERRED"):
            found: dict[str, list[Revision]] = {p.source: [] for p in self._policies(source)}
            for revision in self._revisions(source, started_by):
                found[revision.source].append(revision)
            return found

    def change(self, source: str, planner: Planner, now: datetime) -> Plan | None:
        """Plan from the revisions that are there, and write what the plan says."""
        with self._transaction("IMMEDIATE"):
            touched = self._database.execute(
                "UPDATE policies SET updated_at = ? WHERE source = ?", (now.isoformat(), source)
            )
            if touched.rowcount == 0:
                return None
            plan = planner(self._revisions(source))
            if plan.deletes:
                self._database.execute(
                    "DELETE FROM revisions WHERE source = ? AND revision_id = ?",
                    (source, plan.revision.revision_id),
                )
            for revision in plan.written:
                self._insert("REPLACE", "revisions", row_of(revision))
            return plan

    def ping(self) -> None:
        """Do nothing, if the file can be read."""
        with self._transaction("DEFERRED"):
            self._policies("")

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._database.close()

    def _policies(self, source: str | None) -> list[Policy]:
        rows = self._database.execute(
            "SELECT * FROM policies WHERE :source IS NULL OR source = :source", {"source": source}
        )
        return [read_policy(dict(row), f"{row['source']} in {self._path}") for row in rows]

    def _revisions(self, source: str | None, started_by: date | None = None) -> list[Revision]:
        first = None if started_by is None else started_by.isoformat()
        rows = self._database.execute(_REVISIONS, {"source": source, "started_by": first})
        return [
            read_revision(dict(row), f"{row['source']}, {row['revision_id']} in {self._path}")
            for row in rows
        ]

    def _insert(self, verb: str, table: str, row: dict[str, Plain]) -> int:
        columns, values = ", ".join(row), ", ".join(f":{name}" for name in row)
        # Verb, table and columns are words of our own; the values are bound.
        statement = f"{verb} INTO {table} ({columns}) VALUES ({values})"
        return self._database.execute(statement, row).rowcount

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[None]:
        with self._lock, self._failures():
            self._database.execute(f"BEGIN {kind}")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                # SQLite has rolled back by itself after some errors (disk full, for one).
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise RegistryUnavailable(
                f"The policy registry {self._path} cannot be used ({error}). "
                "Check that the disk is not full and that the folder is writable."
            ) from error


def _open(path: Path) -> sqlite3.Connection:
    with suppress(OSError):  # SQLite says what is wrong with the folder
        path.touch(mode=0o600)  # and so are the files that SQLite puts beside it
    database = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_S, check_same_thread=False, isolation_level=None
    )
    try:
        version = _read_version(database, path)
        database.row_factory = sqlite3.Row
        _switch_to_log(database)
        database.execute("PRAGMA synchronous=FULL")
        database.execute("PRAGMA foreign_keys=ON")
        if version < VERSION:
            database.executescript(_SCHEMA)
    except BaseException:
        database.close()
        raise
    return database


def _read_version(database: sqlite3.Connection, path: Path) -> int:
    """The schema version of the file; 0 if it is new, or of quinion 0.1.

    Raises:
        RegistryUnavailable: a newer quinion wrote it.
    """
    [(version,)] = database.execute("PRAGMA user_version")
    try:
        check_version(version, VERSION, path)
    except StoreUnavailable as error:
        raise RegistryUnavailable(error.message) from error
    return int(version)


def _switch_to_log(database: sqlite3.Connection) -> None:
    """SQLite does not wait with this while another writes to a new file: it refuses at once."""
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
