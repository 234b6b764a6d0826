"""Connections to the database: one writer, and a pool of readers.

A reader's transaction sees one snapshot. Transactions of writing are serialized: the writer's
connection holds an advisory lock as long as it exists, so that one engine uses the database. A
connection that was lost is replaced at the next use.
"""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, LifoQueue
from typing import Any

import psycopg
from psycopg import Connection, errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from quinion.errors import BadSetting, HomeInUse, StoreUnavailable
from quinion.store.postgres.schema import SCHEMA, migrate
from quinion.store.postgres.values import register_vectors

READERS = 8
"""Maximum number of connections for reading; further readers wait."""
BUSY_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 5
READ_TIMEOUT_S = 60
WRITE_TIMEOUT_S = 900
"""Time of one statement, which may build an index over many vectors."""
ENGINE = 0x71756E45
"""Key of the advisory lock that the engine holds."""
LOCK_TIMEOUT_S = 5
"""How long to wait for the engine's lock: after a crash, the server notices a lost client late."""

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
}
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_SEARCH_PATH = """
SELECT set_config('search_path', concat_ws(', ', quote_ident(%s), quote_ident(%s)), false)
"""
_HOLDER = """
SELECT application_name, client_addr FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND classid = 0 AND objid = %s AND granted
    AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


class Database:
    """Database at an address."""

    def __init__(self, url: str) -> None:
        self._options = parse_url(url)
        self.address = describe_address(self._options)
        self._freezing = threading.Lock()
        self._writing = threading.Lock()
        self._writing_thread = 0
        self._writer: Connection[Any] | None = None
        self._readers: LifoQueue[Connection[Any] | None] = LifoQueue()
        for _ in range(READERS):
            self._readers.put(None)  # opened at its first use
        with self.failures():
            self._writer = self._connect_writer()

    def close(self) -> None:
        """Close all connections."""
        for reader in [self._readers.get() for _ in range(self._readers.qsize())]:
            if reader:
                reader.close()
            self._readers.put(None)
        if self._writer:
            self._writer.close()

    @contextmanager
    def read(self) -> Iterator[Connection[Any]]:
        """Open a connection on one snapshot."""
        self._check_thread()
        with self.failures():
            try:
                reader = self._readers.get(timeout=BUSY_TIMEOUT_S)
            except Empty:
                raise StoreUnavailable(
                    f"All {READERS} connections to the database at {self.address} have been busy "
                    f"for {BUSY_TIMEOUT_S:.0f} s. Try again later."
                ) from None
            try:
                reader = begin(reader, _SNAPSHOT, self._connect)
                yield reader
            finally:
                self._readers.put(end(reader))

    @contextmanager
    def write(self) -> Iterator[Connection[Any]]:
        """Open a transaction on the writer's connection: committed when the block ends, rolled
        back when it raises."""
        self._check_thread()
        with self._freezing, self._writing, self.failures():
            self._writing_thread = threading.get_ident()
            try:
                self._writer = begin(self._writer, "BEGIN", self._connect_writer)
                yield self._writer
                self._writer.execute("COMMIT")
            finally:
                self._writing_thread = 0
                self._writer = end(self._writer)

    @contextmanager
    def maintain(self) -> Iterator[Connection[Any]]:
        """Use the writer's connection outside a transaction."""
        with self._writing, self.failures():
            if self._writer and not self._writer.closed:
                yield self._writer

    @contextmanager
    def freeze(self) -> Iterator[None]:
        """Block writers, but not readers."""
        with self._freezing:
            yield

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Translate errors of the database into StoreUnavailable."""
        try:
            yield
        except psycopg.Error as error:
            raise StoreUnavailable(explain(error, self.address)) from error

    def _check_thread(self) -> None:
        """Raise an error instead of a deadlock of the thread with itself."""
        if self._writing_thread == threading.get_ident():
            raise RuntimeError("This thread has a transaction open; finish it first.")

    def _connect_writer(self) -> Connection[Any]:
        """Connect, take the engine's lock, and migrate the schema.

        Raises:
            HomeInUse: another engine uses the database.
        """
        connection = connect(self._options)
        try:
            self._lock(connection)
            migrate(connection, self.address)
            configure(connection, WRITE_TIMEOUT_S)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self) -> Connection[Any]:
        connection = connect(self._options)
        try:
            configure(connection, READ_TIMEOUT_S)
        except BaseException:
            connection.close()
            raise
        return connection

    def _lock(self, connection: Connection[Any]) -> None:
        connection.execute("SELECT set_config('lock_timeout', %s, false)", (f"{LOCK_TIMEOUT_S}s",))
        try:
            connection.execute("SELECT pg_advisory_lock(%s)", (ENGINE,))
        except errors.LockNotAvailable as error:
            holder = connection.execute(_HOLDER, (ENGINE,)).fetchone()
            name = f": {holder[0]}, at {holder[1] or 'this machine'}" if holder else ""
            raise HomeInUse(
                f"Another engine uses the database at {self.address}{name}. One engine uses a "
                "database at a time: stop the other one, or use another database."
            ) from error
        connection.execute("RESET lock_timeout")


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


def begin(
    connection: Connection[Any] | None, statement: str, reconnect: Callable[[], Connection[Any]]
) -> Connection[Any]:
    """Begin a transaction, on a new connection if the given one was lost."""
    if connection and not connection.closed:
        try:
            connection.execute(statement.encode())
        except psycopg.OperationalError:
            connection.close()
        else:
            return connection
    connection = reconnect()
    try:
        connection.execute(statement.encode())
    except BaseException:
        connection.close()
        raise
    return connection


def end(connection: Connection[Any] | None) -> Connection[Any] | None:
    """Roll back what is open; return the connection if it can be used again."""
    if connection is None or connection.closed:
        return None
    if connection.info.transaction_status != TransactionStatus.IDLE:
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")
    if connection.closed or connection.info.transaction_status != TransactionStatus.IDLE:
        connection.close()
        return None
    return connection
