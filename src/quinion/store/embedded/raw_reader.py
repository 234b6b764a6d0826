"""The files of a store, read without trusting any of them.

For the integrity check, and for salvaging what can be read of a store that can't be opened any
more. Records are read in steps, so that the size of the store does not matter. Nothing is
written here.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from quinion.errors import StoreUnavailable
from quinion.model.record import Record
from quinion.store.base import Vectors
from quinion.store.embedded.binary_quantization import WORD, encode
from quinion.store.embedded.checksum import sum_record
from quinion.store.embedded.database import FILE
from quinion.store.embedded.metadata_index import entries, read_entries
from quinion.store.embedded.vector_file import FLOAT
from quinion.store.embedded.vector_index import CODES, VECTORS

STEP = 2_000
"""Records that are held in memory at once."""
MOST_LINES = 5
"""Lines of what SQLite reports about a damaged file; it repeats itself."""
MOST_NAMED = 10
"""Damaged records that are named."""
_RECORDS_AFTER = """
SELECT number, id, slot, text, metadata, checksum,
    typeof(id) || typeof(text) || typeof(metadata) FROM records
WHERE collection = ? AND number > ? ORDER BY number LIMIT ?
"""
_RECORDS = """
SELECT number, id, slot, text, metadata, checksum,
    typeof(id) || typeof(text) || typeof(metadata) FROM records NOT INDEXED
WHERE collection = ? AND number IN (SELECT value FROM json_each(?)) ORDER BY number
"""
# What one way does not reach behind a damaged page, another may.
_WAYS = (
    "SELECT number, NULL FROM records NOT INDEXED WHERE collection = ? ORDER BY number",
    "SELECT number, NULL FROM records NOT INDEXED WHERE collection = ? ORDER BY number DESC",
    "SELECT number, NULL FROM records INDEXED BY records_by_slot WHERE collection = ?",
    "SELECT number, id FROM records INDEXED BY sqlite_autoindex_records_1 WHERE collection = ?",
)
# A flipped bit may change not only a value but its type.
_TEXTS = b"texttexttext"


@dataclass(frozen=True, slots=True)
class RawRecord:
    """A record as it was found: without `record` where it can't be decoded, without `vector`
    where the file of vectors ends before it."""

    id: str
    slot: int
    record: Record | None
    vector: Vectors | None
    checksum: int

    @property
    def is_intact(self) -> bool:
        """Whether it is what was written."""
        if self.record is None or self.vector is None:
            return False
        return self.checksum == sum_record(self.record, self.vector)

    def can_become(self, record: Record, vector: Vectors) -> bool:
        """Whether this is an intact copy of it: it has the checksum, or it equals the record,
        and then the checksum is what is damaged."""
        if self.checksum == sum_record(record, vector):
            return True
        same_vector = self.vector is not None and np.array_equal(vector, self.vector)
        return same_vector and self.record == record

    def is_same(self, other: "RawRecord") -> bool:
        """Whether the other one, which is intact, is a copy of this one."""
        assert other.record is not None and other.vector is not None
        return self.can_become(other.record, other.vector)


@dataclass(slots=True)
class Check:
    """What a check found: damaged records, and indexes that do not match the records."""

    collection: str
    records: int = 0
    damaged: list[RawRecord] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """A line for each; for very many damaged records, some of them and how many more."""
        lines = [f"{one.id} does not match its checksum" for one in self.damaged[:MOST_NAMED]]
        if more := len(self.damaged[MOST_NAMED:]):
            lines.append(f"{more:,} more records do not match their checksums")
        return [f"{self.collection}: {line}" for line in (*lines, *self.indexes)]


class RawReader:
    """The files of one store. Calls block, and come from one thread at a time.

    Raises, from all methods:
        StoreUnavailable: a file is damaged so that it can't be read on.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with self._failures():
            self._database = sqlite3.connect(
                f"file:{quote(str(folder / FILE))}?mode=rw",
                uri=True,
                check_same_thread=False,
                isolation_level=None,
            )
            # Texts as bytes: one with a flipped bit may not be UTF-8.
            self._database.text_factory = bytes

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def find_damage(self) -> list[str]:
        """What SQLite's own check reports; an empty list is good news."""
        query = f"PRAGMA integrity_check({MOST_LINES})"
        try:
            lines = [_text(line) for (line,) in self._database.execute(query)]
        except sqlite3.Error as error:
            return [str(error)]
        return [] if lines == ["ok"] else lines

    def collections(self) -> dict[str, str]:
        """The names of all collections, each with the fingerprint of its model."""
        return self._pairs("SELECT name, model FROM collections")

    def values(self) -> dict[str, str]:
        """The key-value table."""
        return self._pairs("SELECT key, value FROM key_values")

    def version(self) -> int:
        """The version of the schema."""
        [(version,)] = self._ask("PRAGMA user_version")
        return int(version)

    def outbox(self) -> set[tuple[str, str]]:
        """The records that the mirror lacks, by collection and id."""
        return {(_text(a), _text(b)) for a, b in self._ask("SELECT collection, id FROM outbox")}

    def check(self, collection: str) -> Check:
        """Check all records of a collection, and its indexes, in one snapshot."""
        check = Check(collection)
        self._ask("BEGIN")
        try:
            number, centre = self._find(collection)[::2]
            expected, codes_match = 0, True
            codes = self._map(number, CODES, WORD, -(-len(centre) // (8 * WORD.itemsize)))
            for step in self.read(collection):
                check.records += len(step)
                intact: list[RawRecord] = []
                for one in step:
                    (intact if one.is_intact else check.damaged).append(one)
                indexed = entries((one.slot, one.record.metadata) for one in intact if one.record)
                expected += sum(map(hash, indexed))
                codes_match = codes_match and (not len(centre) or _match(intact, codes, centre))
            if not check.damaged:  # else they can't match
                if not self._is_indexed(number, expected):
                    check.indexes.append("the metadata index does not match the records")
                if not codes_match:
                    check.indexes.append("the binary codes do not match the vectors")
        except sqlite3.Error as error:
            raise self._failure(error) from error
        finally:
            self._ask("ROLLBACK")
        return check

    def read(self, collection: str) -> Iterator[list[RawRecord]]:
        """All records, in the order of their insertion, some thousand at a time."""
        number, dimensions, _ = self._find(collection)
        last = -1
        while rows := self._ask(_RECORDS_AFTER, number, last, STEP):
            last = rows[-1][0]
            yield self._take(rows, number, dimensions)

    def salvage(self, collection: str) -> Iterator[tuple[list[RawRecord], list[str]]]:
        """All records that can be read of a damaged database, some thousand at a time, and the
        ids of those that can't, as far as an index has them."""
        number, dimensions, _ = self._find(collection)
        ids: dict[int, Any] = {}
        for way in _WAYS:
            with suppress(sqlite3.Error):
                ids.update(self._database.execute(way, (number,)))
        numbers = sorted(ids)
        for start in range(0, len(numbers), STEP):
            rows, unreadable = self._read_rows(number, numbers[start : start + STEP])
            named = [_name(ids[one]) for one in unreadable if ids[one] is not None]
            yield self._take(rows, number, dimensions), named

    def _read_rows(self, number: int, numbers: list[int]) -> tuple[list[Any], list[int]]:
        """The rows of these numbers, and the numbers of those that can't be read."""
        rows: list[Any] = []
        pending = [numbers]
        while pending:
            some = pending.pop()
            try:
                rows += self._database.execute(_RECORDS, (number, json.dumps(some))).fetchall()
            except sqlite3.Error:
                if middle := len(some) // 2:
                    pending += [some[middle:], some[:middle]]
        found = {row[0] for row in rows}
        return rows, [one for one in numbers if one not in found]

    def _take(self, rows: Sequence[Any], number: int, dimensions: int) -> list[RawRecord]:
        vectors: Vectors = self._map(number, VECTORS, FLOAT, dimensions)
        return [
            RawRecord(
                _name(id_),
                slot,
                _decode(id_, text, metadata) if types == _TEXTS else None,
                np.array(vectors[slot]) if slot in range(len(vectors)) else None,
                checksum,
            )
            for _, id_, slot, text, metadata, checksum, types in rows
        ]

    def _is_indexed(self, number: int, expected: int) -> bool:
        try:
            found = read_entries(self._database, number)  # texts as bytes
            return expected == sum(hash((_name(k), _name(v), slot)) for k, v, slot in found)
        except StoreUnavailable:  # it can't even be decoded
            return False

    def _find(self, collection: str) -> tuple[int, int, Vectors]:
        """The number, dimensions and centre of a collection; one that is missing is empty."""
        query = "SELECT number, dimensions, centre FROM collections WHERE name = ?"
        for number, dimensions, centre in self._ask(query, collection):
            return number, dimensions, np.frombuffer(centre or b"", FLOAT)
        return 0, 1, np.empty(0, FLOAT)

    def _map(self, number: int, suffix: str, kind: "np.dtype[Any]", width: int) -> NDArray[Any]:
        """A file's rows, which are read from the disk as they are looked at."""
        path = self._folder / f"{number}{suffix}"
        rows = path.stat().st_size // (width * kind.itemsize) if width and path.exists() else 0
        if not rows:
            return np.empty((0, width), kind)
        return np.memmap(path, kind, "r", shape=(rows, width))

    def _ask(self, query: str, *values: object) -> list[Any]:
        with self._failures():
            return self._database.execute(query, values).fetchall()

    def _pairs(self, query: str) -> dict[str, str]:
        return {_text(key): _text(value) for key, value in self._ask(query)}

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> StoreUnavailable:
        return StoreUnavailable(
            f"The store in {self._folder} can't be read: {error}. Run quinion rebuild."
        )


def _match(intact: list[RawRecord], codes: NDArray[Any], centre: Vectors) -> bool:
    """Whether these binary codes are those of the records' vectors."""
    pairs = [(one.slot, one.vector) for one in intact if one.vector is not None]
    if not pairs:
        return True
    slots, vectors = zip(*pairs, strict=True)
    if max(slots) >= len(codes):
        return False
    return np.array_equal(codes[list(slots)], encode(np.stack(vectors), centre))


def _text(value: bytes) -> str:
    return value.decode(errors="replace")


def _name(id_: object) -> str:
    """An id as it is named; a flipped bit may have changed its type."""
    return _text(id_) if isinstance(id_, bytes) else repr(id_)


def _decode(id_: bytes, text: bytes, metadata: bytes) -> Record | None:
    try:
        return Record(id_.decode(), text.decode(), dict(json.loads(metadata)))
    except (ValueError, TypeError):
        return None
