"""Connections to the database: one writer, and a pool of readers.

A reader's transaction sees one snapshot. This engine has one transaction of writing at a time;
those of other engines run at the same time, and each locks the collections that it changes. A
connection that was lost is replaced at the next use.
"""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import psycopg
from psycopg import Connection, errors
from psycopg.conninfo import conninfo_to_dict

from quinion.errors import BadSetting, StoreUnavailable, TransactionConflict
from quinion.store.leases import held_leases
from quinion.store.postgres.pool import SNAPSHOT, Pool
from quinion.store.postgres.schema import SCHEMA, migrate
from quinion.store.postgres.standby import Standby
from quinion.store.postgres.values import register_vectors

READERS = 8
"""Maximum number of connections for reading; further readers wait."""
BUSY_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 5
READ_TIMEOUT_S = 60
WRITE_TIMEOUT_S = 900
"""Time of one statement, which may build an index over many vectors."""
IDLE_TIMEOUT_S = 30
"""Time between two statements of a transaction, after which the server ends it: a process that is
stopped must not lock a collection for ever."""
FREEZE = 0x71756E46
"""Key of the advisory lock that writers share, and that `freeze` takes alone."""

# A peer that is gone is noticed within half a minute, not after hours.
_KEEPALIVE = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_SETTINGS = {
    "jit": "off",
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.max_scan_tuples": "100000",
    "idle_in_transaction_session_timeout": f"{IDLE_TIMEOUT_S}s",
}
_SEARCH_PATH = """
SELECT set_config('search_path', concat_ws(', ', quote_ident(%s), quote_ident(%s)), false)
"""
_SHARE = "SELECT pg_advisory_xact_lock_shared(%s)"
_EXCLUDE = """
SELECT set_config('idle_in_transaction_session_timeout', '0', true), pg_advisory_xact_lock(%s)
"""


class Database:
    """Database at an address; reads use its standby, if there is one that is not behind.

    Raises:
        StoreUnavailable: it does not answer, or its schema or version cannot be used.
    """

    def __init__(self, url: str, standby: str | None = None) -> None:
        self._options = parse_url(url)
        self.address = describe_address(self._options)
        self._writing: set[int] = set()
        connect_reader = partial(_connect_reader, self._options)
        self._readers = Pool(READERS, connect_reader, self.address, BUSY_TIMEOUT_S)
        self._standby = _open_standby(standby) if standby else None
        self._writer = Pool(1, self.connect_writer, self.address, WRITE_TIMEOUT_S)
        with self.failures(), self._writer.transaction("BEGIN"):
            pass  # the schema is current

    def close(self) -> None:
        """Close all connections."""
        self._readers.close()
        if self._standby:
            self._standby.close()
        self._writer.close()

    @contextmanager
    def read(self, *, primary: bool = False) -> Iterator[Connection[Any]]:
        """Open a connection on one snapshot, which has all that this engine has written.

        `primary`: not on the standby. What a lease covers is also read from the primary, because
        it may be written back.

        Raises:
            StandbyFailed: the standby did; the next read uses the primary.
        """
        self._check_thread()
        primary = primary or bool(held_leases())
        with self.failures():
            if self._standby and not primary:
                with self._standby.read() as connection:
                    if connection:
                        yield connection
                        return
            with self._readers.transaction(SNAPSHOT) as connection:
                yield connection
                if self._standby and primary:  # a later read must not know less
                    connection.execute("COMMIT")
                    self._standby.note(connection)

    def refresh(self) -> None:
        """Let later reads of the standby wait for the present state of the primary."""
        if self._standby:
            with self.read(primary=True):
                pass

    @contextmanager
    def write(self) -> Iterator[Connection[Any]]:
        """Open a transaction of writing: committed when the block ends, rolled back when it raises.

        Raises:
            TransactionConflict: another transaction was in the way; this one can be repeated.
        """
        self._check_thread()
        thread = threading.get_ident()
        with self.failures(), self._writer.transaction("BEGIN") as connection:
            self._writing.add(thread)
            try:
                connection.execute(_SHARE, (FREEZE,))
                yield connection
                connection.execute("COMMIT")
                if self._standby:
                    self._standby.note(connection)
            finally:
                self._writing.discard(thread)

    @contextmanager
    def freeze(self) -> Iterator[Connection[Any]]:
        """Block writers of all engines, but not readers; open a transaction without other ones."""
        with self.failures(), self._writer.transaction("BEGIN") as connection:
            connection.execute(_EXCLUDE, (FREEZE,))
            yield connection

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Translate errors of the database into StoreUnavailable."""
        try:
            yield
        except (errors.DeadlockDetected, errors.SerializationFailure) as error:
            raise TransactionConflict(
                f"Another transaction of the database at {self.address} was in the way. Try again."
            ) from error
        except psycopg.Error as error:
            raise StoreUnavailable(explain(error, self.address)) from error

    def connect_writer(self) -> Connection[Any]:
        """Connect, and migrate the schema if it is older.

        Raises:
            StoreUnavailable: the schema or the server's version cannot be used.
        """
        connection = connect(self._options)
        try:
            migrate(connection, self.address)
            configure(connection, WRITE_TIMEOUT_S)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_thread(self) -> None:
        """Refuse what may block the thread with itself."""
        if threading.get_ident() in self._writing:
            raise RuntimeError("This thread has a transaction open; finish it first.")


def _open_standby(url: str) -> Standby:
    options = parse_url(url)
    connect_reader = partial(_connect_reader, options)
    return Standby(READERS, connect_reader, describe_address(options), BUSY_TIMEOUT_S)


def _connect_reader(options: dict[str, Any]) -> Connection[Any]:
    connection = connect(options)
    try:
        configure(connection, READ_TIMEOUT_S)
    except BaseException:
        connection.close()
        raise
    return connection


def parse_url(url: str) -> dict[str, Any]:
    """Parse an address of PostgreSQL.

    Raises:
        BadSetting: it is not one.
    """
    try:
        return dict(conninfo_to_dict(url))
    except psycopg.ProgrammingError:
        # Without the cause and its message: they may contain the password.
        raise BadSetting(
            "QUINION_DATABASE_URL is not an address of PostgreSQL. Write it like "
            "postgresql://user:password@host:5432/database; percent-encode a password."
        ) from None


def describe_address(options: dict[str, Any]) -> str:
    """The address without user name and password."""
    host, port = options.get("host", "localhost"), options.get("port", 5432)
    return f"{host}:{port}/{options.get('dbname', '')}"


def connect(options: dict[str, Any]) -> Connection[Any]:
    """Open a connection."""
    defaults = {
        "connect_timeout": CONNECT_TIMEOUT_S,
        "application_name": f"quinion {socket.gethostname()} {os.getpid()}",
        **_KEEPALIVE,
    }
    # Without prepared statements: a plan depends on the values.
    return psycopg.connect(**{**defaults, **options}, autocommit=True, prepare_threshold=None)


def explain(error: psycopg.Error, address: str) -> str:
    """Describe an error of the database, and what to do."""
    reason = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, errors.QueryCanceled):
        return f"The database at {address} took too long ({reason}). Try again, or check its load."
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return (
            f"The database at {address} is read-only: it may be a standby. Searches work. Set "
            "QUINION_DATABASE_URL to the primary, or try again after the failover."
        )
    if isinstance(error, errors.DiskFull):
        return f"The disk of the database at {address} is full ({reason}). Free space there."
    if isinstance(error, psycopg.OperationalError):
        return (
            f"The database at {address} does not answer: {reason}. Check that it runs and that "
            "QUINION_DATABASE_URL is right, then try again."
        )
    return f"The database at {address} failed: {reason}. Look into the log of the database."


def configure(connection: Connection[Any], timeout_s: int) -> None:
    """Set up a connection after the migration: search path, vectors and limits."""
    [(place,)] = connection.execute(
        "SELECT nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace "
        "WHERE extname = 'vector'"
    ).fetchall()
    connection.execute(_SEARCH_PATH, (SCHEMA, place))
    register_vectors(connection)
    for name, value in {"statement_timeout": f"{timeout_s}s", **_SETTINGS}.items():
        connection.execute("SELECT set_config(%s, %s, false)", (name, value))
