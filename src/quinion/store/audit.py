"""The ledger as it lies on the disk, read without trusting any of it.

For proving it, and for saving what can be saved of one that can't be opened any more. It is read
in steps, so that it does not matter how large it is. Nothing is written here.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from quinion.errors import StoreUnavailable
from quinion.model.record import Metadata, Record
from quinion.store.checksum import sum_record
from quinion.store.codes import WORD, encode
from quinion.store.facts import fingerprint_holders, fingerprint_records
from quinion.store.ledger import DATABASE, STEP
from quinion.store.rows import FLOAT, Vectors
from quinion.store.shelves import CODES, ROWS

MOST_LINES = 5
"""Of what SQLite says about a damaged file; it repeats itself."""
_RECORDS_AFTER = """
SELECT number, id, place, text, metadata, checksum,
    typeof(id) || typeof(text) || typeof(metadata) FROM records
WHERE collection = ? AND number > ? ORDER BY number LIMIT ?
"""
_RECORDS_OF = """
SELECT number, id, place, text, metadata, checksum,
    typeof(id) || typeof(text) || typeof(metadata) FROM records
WHERE collection = ? AND id IN (SELECT value FROM json_each(?))
"""


# What a bit may change besides the bytes: what SQLite takes them for.
_TEXTS = b"texttexttext"


@dataclass(frozen=True, slots=True)
class Kept:
    """A record as it was found; without `record` where it can't be read, without `vector` where
    the file of vectors ends before it."""

    id: str
    place: int
    record: Record | None
    vector: Vectors | None
    checksum: int

    @property
    def is_whole(self) -> bool:
        """Whether it is what was written."""
        if self.record is None or self.vector is None:
            return False
        return self.checksum == sum_record(self.record, self.vector)


@dataclass(frozen=True, slots=True)
class _Shelf:
    number: int
    dimensions: int
    fingerprint: str
    centre: Vectors | None


class Audit:
    """One ledger's files. Calls block, and are made from one thread at a time.

    Raises, from all methods:
        StoreUnavailable: it is damaged so that it can't be read on.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with self._failures():
            where = f"file:{quote(str(folder / DATABASE))}?mode=rw"
            self._database = sqlite3.connect(
                where, uri=True, check_same_thread=False, isolation_level=None
            )
            # As bytes: a text with a flipped bit may be none.
            self._database.text_factory = bytes
            self._shelves = self._read_shelves()

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def find_damage(self) -> list[str]:
        """What SQLite finds amiss in its file; none is good news."""
        with self._failures():
            query = f"PRAGMA integrity_check({MOST_LINES})"
            said = [line.decode(errors="replace") for (line,) in self._database.execute(query)]
        return [] if said == ["ok"] else said

    def collections(self) -> dict[str, str]:
        """The names of all collections, each with the mark of its model."""
        return {name: shelf.fingerprint for name, shelf in self._shelves.items()}

    def count(self, collection: str) -> int:
        """How many records the collection has."""
        shelf = self._shelves.get(collection)
        if not shelf:
            return 0
        [(count,)] = self._ask("SELECT count(*) FROM records WHERE collection = ?", (shelf.number,))
        return int(count)

    def read(self, collection: str) -> Iterator[list[Kept]]:
        """All records, in the order in which they came, some thousand at a time."""
        shelf = self._shelves.get(collection)
        last = -1
        while shelf:
            found = self._ask(_RECORDS_AFTER, (shelf.number, last, STEP))
            if not found:
                return
            last = found[-1][0]
            yield self._keep(shelf, found)

    def read_some(self, collection: str, ids: Sequence[str]) -> list[Kept]:
        """The records with these ids."""
        shelf = self._shelves.get(collection)
        if not shelf:
            return []
        return self._keep(shelf, self._ask(_RECORDS_OF, (shelf.number, json.dumps(list(ids)))))

    def facts_agree(self, collection: str) -> bool:
        """Whether the facts say what the records say."""
        shelf = self._shelves.get(collection)
        if not shelf:
            return True
        with self._failures():
            self._database.execute("BEGIN")  # both as they were at one moment
            try:
                total = 0
                for step in self.read(collection):
                    held = [(kept.place, kept.record.metadata) for kept in step if kept.record]
                    total += fingerprint_records(held)
                noted = fingerprint_holders(self._database, shelf.number)
            finally:
                self._database.execute("ROLLBACK")
        return (total - noted) % (1 << 64) == 0

    def codes_agree(self, collection: str) -> bool:
        """Whether the codes are those of the vectors, where there are to be any."""
        shelf = self._shelves.get(collection)
        if not shelf or shelf.centre is None:
            return True
        width = -(-len(shelf.centre) // (8 * WORD.itemsize))
        codes = self._map(shelf.number, CODES, WORD, width)
        for step in self.read(collection):
            whole = [kept for kept in step if kept.vector is not None and kept.is_whole]
            places = np.array([kept.place for kept in whole], np.int64)
            if not len(places):
                continue
            if places.max() >= len(codes):
                return False
            vectors = np.stack([kept.vector for kept in whole if kept.vector is not None])
            if not np.array_equal(codes[places], encode(vectors, shelf.centre)):
                return False
        return True

    def _read_shelves(self) -> dict[str, _Shelf]:
        query = "SELECT name, number, dimensions, fingerprint, centre FROM collections"
        return {
            name.decode(errors="replace"): _Shelf(
                number,
                dimensions,
                mark.decode(errors="replace"),
                None if centre is None else np.frombuffer(centre, FLOAT),
            )
            for name, number, dimensions, mark, centre in self._database.execute(query).fetchall()
        }

    def _keep(
        self, shelf: _Shelf, found: Sequence[tuple[int, bytes, int, bytes, bytes, int, bytes]]
    ) -> list[Kept]:
        rows: Vectors = self._map(shelf.number, ROWS, FLOAT, shelf.dimensions)
        return [
            Kept(
                id_.decode(errors="replace") if isinstance(id_, bytes) else repr(id_),
                place,
                _decode(id_, text, metadata) if types == _TEXTS else None,
                np.array(rows[place]) if 0 <= place < len(rows) else None,
                checksum,
            )
            for _, id_, place, text, metadata, checksum, types in found
        ]

    def _map(self, number: int, suffix: str, kind: "np.dtype[Any]", width: int) -> NDArray[Any]:
        """Its rows, which are read from the disk as they are looked at."""
        path = self._folder / f"{number}{suffix}"
        rows = path.stat().st_size // (width * kind.itemsize) if path.exists() else 0
        if not rows:
            return np.empty((0, width), kind)
        return np.memmap(path, kind, "r", shape=(rows, width))

    def _ask(self, query: str, values: Sequence[object]) -> list[Any]:
        with self._failures():
            return self._database.execute(query, values).fetchall()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(
                f"The ledger in {self._folder} can't be read: {error}. Run quinion rebuild."
            ) from error


def _decode(id_: bytes, text: bytes, metadata: bytes) -> Record | None:
    try:
        read: Metadata = json.loads(metadata)
        return Record(id_.decode(), text.decode(), dict(read))
    except (ValueError, TypeError):
        return None
