"""Connections to `store.db`: one writer, and a pool of readers that do not wait for it.

SQLite in WAL mode with `synchronous=FULL`: a reader sees the snapshot of its first query, and
commits are on the disk. In memory there is one connection, which readers and the writer share
under a lock.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import LifoQueue

from quinion.errors import StoreUnavailable
from quinion.store.embedded.schema import migrate

FILE = "store.db"
REPAIR = "Run quinion verify --repair and, if that does not help, quinion rebuild."
DAMAGE = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_ERROR,  # a table or column is missing
        sqlite3.SQLITE_CONSTRAINT,  # writes to an intact store violate none
    }
)
"""Result codes of SQLite that do not occur with an intact file."""
READERS = 8
"""Maximum number of connections for reading; further readers wait. They are pooled because SQLite
keeps the files of a closed connection open while there is another."""


class Database:
    """Database of one store; in memory if `folder` is `None`."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._freezing = threading.Lock()
        self._writing = threading.Lock()
        self._writing_thread = 0
        self._readers: LifoQueue[sqlite3.Connection | None] = LifoQueue()
        for _ in range(READERS):
            self._readers.put(None)  # opened at its first use
        with self.failures():
            if folder:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._writer = self._connect()
            try:
                migrate(self._writer, folder)
            except BaseException:
                self._writer.close()
                raise

    def close(self) -> None:
        """Close all connections."""
        for reader in [self._readers.get() for _ in range(self._readers.qsize())]:
            if reader:
                reader.close()
            self._readers.put(None)
        self._writer.close()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Open a connection on one snapshot."""
        if self._folder is None:
            self._check_thread()
            with self._writing, self.failures():
                yield self._writer
            return
        with self.failures():
            reader = self._readers.get()
            try:
                reader = reader or self._connect()
                reader.execute("BEGIN")
                yield reader
            finally:
                if reader and reader.in_transaction:
                    reader.execute("ROLLBACK")
                self._readers.put(reader)

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction on the writer's connection: committed when the block ends, rolled
        back when it raises."""
        self._check_thread()
        with self._freezing, self._writing, self.failures():
            self._writing_thread = threading.get_ident()
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:  # SQLite has rolled back already on a full disk
                    self._writer.execute("ROLLBACK")
                raise
            finally:
                self._writing_thread = 0

    def _check_thread(self) -> None:
        """Raise an error instead of a deadlock of the thread with itself."""
        if self._writing_thread == threading.get_ident():
            raise RuntimeError("This thread has a transaction open; finish it first.")

    @contextmanager
    def freeze(self) -> Iterator[None]:
        """Block writers, but not readers."""
        with self._freezing:
            yield

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Translate errors of SQLite and the file system into StoreUnavailable."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if is_damage(error):
                raise StoreUnavailable(
                    f"The store in {self._folder} is damaged: {error}. {REPAIR}"
                ) from error
            raise StoreUnavailable(
                f"The store in {self._folder} failed: {error}. "
                "Check that the disk is not full and that the folder is writable."
            ) from error

    def _connect(self) -> sqlite3.Connection:
        path = self._folder / FILE if self._folder else ":memory:"
        connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
        except sqlite3.Error:
            connection.close()
            raise
        return connection


def is_damage(error: Exception) -> bool:
    """Whether an error means a damaged file, and not one that can't be used at the moment."""
    if not isinstance(error, sqlite3.Error):
        return False
    # Text with a flipped bit may be invalid UTF-8, which Python reports without an SQLite code.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    return code & 0xFF in DAMAGE
