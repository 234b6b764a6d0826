"""Small notes that must outlive the process: what has been done, what is being done."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quinion.errors import StoreUnavailable

_SCHEMA = """
CREATE TABLE IF NOT EXISTS marks (
    store TEXT NOT NULL,
    key TEXT NOT NULL,
    mark TEXT NOT NULL,
    PRIMARY KEY (store, key)
)
"""


class Marks:
    """One text for each key, kept in the home; `store` names what the notes are about."""

    def __init__(self, path: Path, store: str) -> None:
        self._store = store
        self._path = path
        self._lock = threading.Lock()
        with self._failures():
            self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute(_SCHEMA)

    def all(self) -> dict[str, str]:
        """Every key with its mark."""
        with self._lock, self._failures():
            rows = self._database.execute(
                "SELECT key, mark FROM marks WHERE store = ?", (self._store,)
            )
            return dict(rows.fetchall())

    def get(self, key: str) -> str | None:
        """What is noted under the key."""
        with self._lock, self._failures():
            row = self._database.execute(
                "SELECT mark FROM marks WHERE store = ? AND key = ?", (self._store, key)
            ).fetchone()
        return row[0] if row else None

    def set(self, key: str, mark: str) -> None:
        """Note something, in the place of what was noted under the key."""
        with self._lock, self._failures():
            self._database.execute(
                "INSERT OR REPLACE INTO marks (store, key, mark) VALUES (?, ?, ?)",
                (self._store, key, mark),
            )

    def drop(self, key: str) -> None:
        """Forget what was noted under the key."""
        with self._lock, self._failures():
            self._database.execute(
                "DELETE FROM marks WHERE store = ? AND key = ?", (self._store, key)
            )

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreUnavailable(
                f"{self._path} cannot be used ({error}). "
                "Check that the disk is not full and that the folder is writable."
            ) from error
