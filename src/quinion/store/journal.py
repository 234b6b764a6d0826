"""Intents: what is about to be written, recorded before the first write.

Neither Chroma nor two collections of it can be changed in one transaction. So each
operation first records here what it would leave behind if it stopped half-way, and strikes
that out after its last write. What is still recorded when a home is opened belongs to a
process that died, and is removed; where it was replacing something, that is put back.

SQLite with `synchronous=FULL`: an intent is on the disk before the first vector is.
"""

import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from quinion.errors import StoreUnavailable
from quinion.model.record import Record

_SCHEMA = """
CREATE TABLE IF NOT EXISTS intents (
    id INTEGER PRIMARY KEY,
    store TEXT NOT NULL,
    traces TEXT NOT NULL,
    backup TEXT NOT NULL
)
"""


@dataclass(frozen=True, slots=True)
class Trace:
    """Records of one collection that belong together: all with these values in their fields,
    or those of these ids, or (neither) the whole collection."""

    collection: str
    fields: tuple[tuple[str, str], ...] = ()
    ids: tuple[str, ...] = ()

    @classmethod
    def of(cls, collection: str, **fields: str) -> "Trace":
        """The records of the collection with these values."""
        return cls(collection, tuple(fields.items()))

    @classmethod
    def at(cls, collection: str, *ids: str) -> "Trace":
        """The records of the collection with these ids, one or more."""
        return cls(collection, ids=ids)

    @property
    def is_whole(self) -> bool:
        """All that the collection has."""
        return not self.fields and not self.ids

    def names(self, record: Record) -> bool:
        """Whether the record is one of these."""
        if self.ids:
            return record.id in self.ids
        return all(record.metadata.get(field) == value for field, value in self.fields)

    def __str__(self) -> str:
        named = (*self.ids[:1], *(value for _, value in self.fields))
        return ", ".join(named) or f"all of {self.collection}"


@dataclass(frozen=True, slots=True)
class Intent:
    """What is to be removed if it is found again, and the file of what is to be put back."""

    id: int
    traces: tuple[Trace, ...]
    backup: Path | None = None


class Journal:
    """The open intents of one home, kept apart by the store that they were meant for."""

    def __init__(self, path: Path, store: str) -> None:
        self._store = store
        self._path = path
        self._lock = threading.Lock()
        try:
            self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=FULL")
            self._database.execute(_SCHEMA)
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def begin(self, traces: Sequence[Trace], backup: Path | None = None) -> Intent:
        """Record that these may be half-written from now on."""
        document = json.dumps([[t.collection, t.fields, t.ids] for t in traces])
        row = (self._store, document, str(backup) if backup else "")
        with self._lock:
            try:
                cursor = self._database.execute(
                    "INSERT INTO intents (store, traces, backup) VALUES (?, ?, ?)", row
                )
            except sqlite3.Error as error:
                raise self._failure(error) from error
        assert cursor.lastrowid is not None
        return Intent(cursor.lastrowid, tuple(traces), backup)

    def end(self, intent: Intent) -> None:
        """Strike the intent out: what it names is whole, or as it was."""
        with self._lock:
            try:
                self._database.execute("DELETE FROM intents WHERE id = ?", (intent.id,))
            except sqlite3.Error as error:
                raise self._failure(error) from error
        if intent.backup:
            intent.backup.unlink(missing_ok=True)

    def unfinished(self) -> list[Intent]:
        """The intents that were never struck out."""
        with self._lock, closing(self._database.cursor()) as cursor:
            rows = cursor.execute(
                "SELECT id, traces, backup FROM intents WHERE store = ? ORDER BY id", (self._store,)
            ).fetchall()
        return [
            Intent(
                number,
                tuple(
                    Trace(collection, tuple((field, value) for field, value in fields), tuple(ids))
                    for collection, fields, ids in json.loads(traces)
                ),
                Path(backup) if backup else None,
            )
            for number, traces, backup in rows
        ]

    def backups(self) -> set[str]:
        """The names of the files that intents want kept, those for other stores too."""
        with self._lock:
            try:
                rows = self._database.execute("SELECT backup FROM intents").fetchall()
            except sqlite3.Error as error:
                raise self._failure(error) from error
        return {Path(backup).name for (backup,) in rows if backup}

    @contextmanager
    def still(self) -> Iterator[None]:
        """Nothing begins and nothing ends while this lasts."""
        with self._lock:
            yield

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def _failure(self, error: sqlite3.Error) -> StoreUnavailable:
        return StoreUnavailable(
            f"The journal {self._path} cannot be written ({error}). "
            "Check that the disk is not full and that the folder is writable."
        )
