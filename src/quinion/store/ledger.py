"""The ledger: every record with its vector, kept in the home beside Chroma.

All that is read is read here: a record by its id, the records that pass a filter, the nearest
among few or a million, filtered or not. And what Chroma loses (a damaged folder, a crash of its
own) can be made again from here without embedding anything.

`ledger.db` (SQLite) has the texts and the metadata; `shelves` has the vectors and finds the
nearest; `facts` finds records by what their metadata says; `debts` notes what Chroma lacks.

A write is one transaction. Calls block and may come from many threads: there is one writer, and
readers do not wait for it.
"""

import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from queue import Empty, LifoQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quinion.errors import StoreUnavailable
from quinion.model.record import Metadata, Record
from quinion.store import debts, facts
from quinion.store.checksum import sum_metadata, sum_record
from quinion.store.debts import Change, Debts
from quinion.store.facts import Facts
from quinion.store.filters import Where, matches
from quinion.store.places import Mask, Places
from quinion.store.rows import Vectors
from quinion.store.shelves import MENDING, Shelves

_SCHEMA = """
CREATE TABLE IF NOT EXISTS collections (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dimensions INTEGER NOT NULL,
    fingerprint TEXT NOT NULL DEFAULT '', centre BLOB
);
CREATE TABLE IF NOT EXISTS records (
    number INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    id TEXT NOT NULL,
    place INTEGER NOT NULL,
    text TEXT NOT NULL,
    metadata TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (collection, id)
);
CREATE UNIQUE INDEX IF NOT EXISTS by_place ON records (collection, place);
CREATE TABLE IF NOT EXISTS free (
    collection INTEGER NOT NULL, place INTEGER NOT NULL, PRIMARY KEY (collection, place)
) WITHOUT ROWID;
"""
_RECORDS = "SELECT number, id, text, metadata, place FROM records WHERE collection = ?"
_RECORDS_OF = """
SELECT number, id, text, metadata, place FROM records
WHERE collection = ? AND id IN (SELECT value FROM json_each(?))
"""
_RECORDS_AT = """
SELECT number, id, text, metadata, place FROM records
WHERE collection = ? AND place IN (SELECT value FROM json_each(?))
"""
_WRITE = """
INSERT INTO records (collection, id, place, text, metadata, checksum) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE
SET text = excluded.text, metadata = excluded.metadata, checksum = excluded.checksum
"""
# SQLite has no operator for "one or the other, not both".
_WRITE_METADATA = """
UPDATE records SET metadata = :new, checksum = (checksum | :change) - (checksum & :change)
WHERE collection = :collection AND place = :place
"""
_METADATA_AFTER = """
SELECT number, place, metadata FROM records WHERE collection = ? AND number > ?
ORDER BY number LIMIT ?
"""
DATABASE = "ledger.db"
STEP = 2_000
"""Records that are held in memory where all of them are gone through."""
READERS = 8
"""Connections to read with; who finds them all in use waits. SQLite keeps the files of a closed one
open as long as there is another."""
NONE = 0
"""The number of a collection that nothing was written to."""


class Ledger:
    """All collections of one store; `folder` None: in memory alone."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._writing = threading.RLock()
        self._readers: LifoQueue[sqlite3.Connection] = LifoQueue()
        self._reading = threading.Semaphore(READERS)
        self._numbers: dict[str, int] = {}
        self._live: dict[str, tuple[int, Mask, int]] = {}
        self._versions: Counter[str] = Counter()
        with self._failures():
            if folder:
                folder.mkdir(parents=True, exist_ok=True)
            self._writer = self._connect()
            self._writer.executescript(_SCHEMA + facts.SCHEMA + debts.SCHEMA)
        self._facts = Facts(self._writer, self._read)
        self._shelves = Shelves(folder, self._writer, self._read)
        self.debts = Debts(self._writer, self._read, self._transaction)

    @property
    def folder(self) -> Path | None:
        """Where it is; None: in memory."""
        return self._folder

    def close(self) -> None:
        """Let go of the files."""
        self._shelves.close()
        while not self._readers.empty():
            self._readers.get().close()
        self._writer.close()

    def count(self, collection: str) -> int:
        """How many records the collection has."""
        return self._everybody(collection)[1]

    def collections(self) -> list[str]:
        """The names of all collections that have been written to."""
        return [name for (name,) in self._read("SELECT name FROM collections ORDER BY number", ())]

    def fingerprint(self, collection: str) -> str:
        """The mark of the model that the collection's vectors come from; empty: it has none."""
        query = "SELECT fingerprint FROM collections WHERE name = ?"
        return "".join(mark for (mark,) in self._read(query, (collection,)))

    def mark(self, collection: str, fingerprint: str) -> None:
        """Set that mark, on a collection that has been written to."""
        with self._change(collection):
            self._writer.execute(
                "UPDATE collections SET fingerprint = ? WHERE name = ?", (fingerprint, collection)
            )

    def ids(self, collection: str) -> list[str]:
        """The ids of all records, in the order in which they came."""
        query = "SELECT id FROM records WHERE collection = ? ORDER BY number"
        return [_text(id_) for (id_,) in self._read(query, (self._number(collection),))]

    def get(
        self, collection: str, *, ids: Sequence[str] | None = None, where: Where | None = None
    ) -> list[Record]:
        """The records with these ids, or all that match; in the order in which they came."""
        number = self._number(collection)
        if ids is not None:
            found = self._read(_RECORDS_OF, (number, json.dumps(list(ids))))
        elif where and (mask := self.candidates(collection, where)) is not None:
            places = np.flatnonzero(mask).tolist()
            found = self._read(_RECORDS_AT, (number, json.dumps(places)))
        else:
            found = self._read(_RECORDS, (number,))
        records = (_read_record(*one[1:4]) for one in sorted(found))
        return [one for one in records if not where or matches(one.metadata, where)]

    def at(self, collection: str, places: Sequence[int]) -> dict[int, Record]:
        """The records at these places; those that have gone are left out."""
        found = self._read(_RECORDS_AT, (self._number(collection), json.dumps(list(places))))
        return {one[4]: _read_record(*one[1:4]) for one in found}

    def candidates(self, collection: str, where: Where) -> Mask | None:
        """Where all records are that match, and perhaps others; see `Facts.candidates`."""
        everybody, _ = self._everybody(collection)
        found = self._facts.candidates(self._number(collection), where, len(everybody))
        return None if found is None else found & everybody

    def nearest(
        self, collection: str, vector: Vectors, most: int, mask: Mask | None = None
    ) -> tuple[Places, NDArray[np.float32]]:
        """The places, of those on the mask, whose vectors are nearest, nearest first, and their
        distances. So many are given as there are, or `most`."""
        if mask is None:
            mask, _ = self._everybody(collection)
        return self._shelves.nearest(self._number(collection), vector, most, mask)

    def vectors(self, collection: str, records: Sequence[Record]) -> Vectors:
        """The vector of each of these records."""
        number = self._number(collection)
        ids = json.dumps([record.id for record in records])
        places = {id_: place for _, id_, _, _, place in self._read(_RECORDS_OF, (number, ids))}
        if not places:
            return np.empty((0, 0), np.float32)
        return self._shelves.rows(number).take(
            np.fromiter((places[record.id] for record in records), np.int64)
        )

    def upsert(
        self,
        collection: str,
        records: Sequence[Record],
        vectors: Vectors,
        *,
        from_chroma: bool = False,
    ) -> None:
        """Write records with their vectors, replacing those of the same ids."""
        if not records:
            return
        with self._change(collection):
            number = self._open(collection, vectors.shape[1])
            old = self._forget(number, [record.id for record in records])
            places = self._assign(number, records, old)
            self._shelves.write(number, places, vectors)
            self._writer.executemany(
                _WRITE,
                [
                    (
                        number,
                        record.id,
                        place,
                        record.text,
                        _dump(record.metadata),
                        sum_record(record, vector),
                    )
                    for record, place, vector in zip(records, places.tolist(), vectors, strict=True)
                ],
            )
            self._facts.note(
                number,
                [(p, r.metadata) for r, p in zip(records, places.tolist(), strict=True)],
            )
            if not from_chroma:
                self.debts.note(number, [record.id for record in records], Change.ALL)
                less = [r.id for r in records if r.id in old and old[r.id][1].keys() - r.metadata]
                self.debts.note(number, less, Change.LESS)

    def set_metadata(self, collection: str, ids: Sequence[str], values: Metadata) -> None:
        """Write these values into the metadata of the records with these ids."""
        with self._change(collection):
            number = self._number(collection)
            old = self._forget(number, ids)
            changes = [(place, data, {**data, **values}) for place, data in old.values()]
            self._writer.executemany(
                _WRITE_METADATA,
                [
                    {
                        "new": _dump(after),
                        "change": sum_metadata(before) ^ sum_metadata(after),
                        "collection": number,
                        "place": place,
                    }
                    for place, before, after in changes
                ],
            )
            self._facts.note(number, [(place, after) for place, _, after in changes])
            self.debts.note(number, list(old), Change.METADATA)
            self._facts.drop_unheld(number, [metadata for _, metadata in old.values()])

    def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove the records with these ids; none is fine."""
        with self._change(collection):
            number = self._number(collection)
            old = self._forget(number, ids)
            self._writer.executemany(
                "DELETE FROM records WHERE collection = ? AND id = ?",
                [(number, id_) for id_ in old],
            )
            self._writer.executemany(
                "INSERT INTO free (collection, place) VALUES (?, ?)",
                [(number, place) for place, _ in old.values()],
            )
            self._facts.drop_unheld(number, [metadata for _, metadata in old.values()])
            self.debts.note(number, list(old), Change.ALL)

    def drop(self, collection: str) -> None:
        """Remove the collection as a whole."""
        with self._change(collection):
            number = self._number(collection)
            self._facts.drop(number)
            self.debts.drop(number)
            for statement in (
                "DELETE FROM records WHERE collection = ?",
                "DELETE FROM free WHERE collection = ?",
                "DELETE FROM collections WHERE number = ?",
            ):
                self._writer.execute(statement, (number,))
            self._numbers.pop(collection, None)
        self._shelves.drop(number)

    @contextmanager
    def still(self) -> Iterator[None]:
        """Nobody writes while this lasts; readers do not mind."""
        with self._writing:
            yield

    def mend(self, collection: str, records: Sequence[Record], vectors: Vectors) -> None:
        """Write whole records over damaged ones of the same ids; `renew` has to follow, because
        what was noted of the damaged ones can't be told from them."""
        with self._change(collection):
            number = self._number(collection)
            ids = json.dumps([record.id for record in records])
            query = (
                "SELECT id, place FROM records "
                "WHERE collection = ? AND id IN (SELECT value FROM json_each(?))"
            )
            places = dict(self._writer.execute(query, (number, ids)).fetchall())
            rows = self._shelves.rows(number, checked=False)
            rows.write(np.fromiter((places[one.id] for one in records), np.int64), vectors)
            rows.sync()
            self._writer.executemany(
                "UPDATE records SET text = ?, metadata = ?, checksum = ? "
                "WHERE collection = ? AND id = ?",
                [
                    (one.text, _dump(one.metadata), sum_record(one, vector), number, one.id)
                    for one, vector in zip(records, vectors, strict=True)
                ],
            )

    def renew(self, collection: str) -> None:
        """Make facts and codes anew from the records and their vectors."""
        with self._change(collection):
            number = self._number(collection)
            self._facts.drop(number)
            last = -1
            while step := self._writer.execute(_METADATA_AFTER, (number, last, STEP)).fetchall():
                self._facts.note(number, [(place, _read_or_none(data)) for _, place, data in step])
                last = step[-1][0]
        self._shelves.renew(number)

    def _assign(
        self,
        number: int,
        records: Sequence[Record],
        old: Mapping[str, tuple[int, Metadata]],
    ) -> Places:
        """A place for each: the one that it has, one that became free, or a new one."""
        new = len({record.id for record in records} - old.keys())
        free = [
            place
            for (place,) in self._writer.execute(
                "SELECT place FROM free WHERE collection = ? LIMIT ?", (number, new)
            )
        ]
        self._writer.executemany(
            "DELETE FROM free WHERE collection = ? AND place = ?",
            [(number, place) for place in free],
        )
        (end,) = self._writer.execute(
            "SELECT max(place) FROM records WHERE collection = ?", (number,)
        ).fetchone()
        # A place that is free may lie behind the last one that is taken.
        (end_of_free,) = self._writer.execute(
            "SELECT max(place) FROM free WHERE collection = ?", (number,)
        ).fetchone()
        following = count(
            max((p for p in (end, end_of_free, *free) if p is not None), default=-1) + 1
        )
        given = chain(free, following)
        places = {id_: place for id_, (place, _) in old.items()}
        for record in records:
            if record.id not in places:
                places[record.id] = next(given)
        return np.fromiter((places[record.id] for record in records), np.int64)

    def _forget(self, number: int, ids: Sequence[str]) -> dict[str, tuple[int, Metadata]]:
        """Take back what is noted of these records; their places and metadata, by id."""
        found = self._writer.execute(_RECORDS_OF, (number, json.dumps(list(ids)))).fetchall()
        old = {one[1]: (one[4], _read_record(*one[1:4]).metadata) for one in found}
        self._facts.forget(number, old.values())
        return old

    def _number(self, collection: str) -> int:
        """The number of a collection."""
        if collection not in self._numbers:
            query = "SELECT number FROM collections WHERE name = ?"
            for (number,) in self._read(query, (collection,)):
                self._numbers[collection] = number
        return self._numbers.get(collection, NONE)

    def _open(self, collection: str, dimensions: int) -> int:
        """The number of a collection that is about to be written; it is made if need be."""
        self._writer.execute(
            "INSERT OR IGNORE INTO collections (name, dimensions) VALUES (?, ?)",
            (collection, dimensions),
        )
        query = "SELECT number FROM collections WHERE name = ?"
        (number,) = self._writer.execute(query, (collection,)).fetchone()
        return int(number)

    def _everybody(self, collection: str) -> tuple[Mask, int]:
        """Where the collection has records, and how many they are."""
        now = self._versions[collection]  # before reading: a change meanwhile makes it stale
        known = self._live.get(collection)
        if known is None or known[0] != now:
            number = self._number(collection)
            size = len(self._shelves.rows(number)) if number else 0
            mask = self._facts.everybody(number, size)
            known = self._live[collection] = now, mask, int(np.count_nonzero(mask))
        return known[1:]

    def _connect(self) -> sqlite3.Connection:
        place = self._folder / DATABASE if self._folder else ":memory:"
        connection = sqlite3.connect(place, check_same_thread=False, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        return connection

    def _read(self, query: str, values: Sequence[Any]) -> list[Any]:
        """Ask for rows; on a connection of its own, where there is a file."""
        with self._failures():
            if self._folder is None:
                with self._writing:
                    return self._writer.execute(query, values).fetchall()
            with self._reading:
                try:
                    reader = self._readers.get_nowait()
                except Empty:
                    reader = self._connect()
                try:
                    return reader.execute(query, values).fetchall()
                finally:
                    self._readers.put(reader)

    @contextmanager
    def _change(self, collection: str) -> Iterator[None]:
        """A transaction on a collection's records."""
        with self._transaction():
            yield
        self._versions[collection] += 1

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All of it, or nothing."""
        with self._writing, self._failures():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._writer.execute("COMMIT")
            except BaseException:
                self._facts.unlearn()
                self._numbers.clear()
                self._shelves.forget_codes()
                if self._writer.in_transaction:  # on a full disk SQLite goes back by itself
                    self._writer.execute("ROLLBACK")
                raise

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if _is_damage(error):
                raise StoreUnavailable(
                    f"The ledger in {self._folder} is damaged: {error}. {MENDING}"
                ) from error
            raise StoreUnavailable(
                f"The ledger in {self._folder} failed: {error}. "
                "Check that the disk is not full and that the folder is writable."
            ) from error


def _is_damage(error: Exception) -> bool:
    """Whether SQLite says that a file is not what it wrote, rather than that it can't be used."""
    if not isinstance(error, sqlite3.Error):
        return False
    # A text that is none (a bit flipped in it) is found by Python, which has no code for it.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    return code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _read_record(id_: str, text: str, metadata: str) -> Record:
    try:
        return Record(_text(id_), _text(text), json.loads(_text(metadata)))
    except ValueError as error:
        raise StoreUnavailable(
            f"The ledger's copy of the record {id_} is damaged ({error}). {MENDING}"
        ) from error


def _text(value: object) -> str:
    """What SQLite takes for a text, as it was; a bit may have made something else of it."""
    if not isinstance(value, str):
        raise StoreUnavailable(f"The ledger is damaged: {value!r} is not a text. {MENDING}")
    return value


def _read_or_none(metadata: str) -> Metadata:
    """The metadata; none where it is damaged: whoever finds the record is told so."""
    try:
        read: Metadata = json.loads(metadata)
    except ValueError:
        return {}
    return read


def _dump(metadata: Metadata) -> str:
    return json.dumps(dict(metadata), ensure_ascii=False)
