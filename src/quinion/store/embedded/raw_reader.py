"""Raw reader of a store's files, which assumes that any of them may be damaged.

It is used by the integrity check, and to salvage records of a store that can't be opened. Records
are read in batches, so memory use does not depend on the size of the store. It never writes.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from quinion.errors import StoreUnavailable
from quinion.model.record import Record
from quinion.store.base import IntegrityReport, Vectors
from quinion.store.checksum import sum_record
from quinion.store.embedded.database import FILE
from quinion.store.embedded.keywords.checking import sum_index
from quinion.store.embedded.keywords.keyword_index import read_lengths
from quinion.store.embedded.metadata_index import entries, read_entries
from quinion.store.embedded.vectors.binary_quantization import WORD, encode
from quinion.store.embedded.vectors.vector_file import FLOAT
from quinion.store.embedded.vectors.vector_index import CODES, VECTORS, Collection
from quinion.store.keywords.postings import Lengths
from quinion.store.keywords.sums import SUMS, sum_records

STEP = 2_000
"""Records per batch."""
MAX_LINES = 5
"""Maximum number of lines of SQLite's report on a damaged file, which is repetitive."""
MAX_NAMED = 10
"""Maximum number of damaged records that a report names."""
# Records behind a damaged page may be reachable by another scan.
_SCANS = (
    "SELECT number FROM records NOT INDEXED WHERE collection = ? ORDER BY number",
    "SELECT number FROM records NOT INDEXED WHERE collection = ? ORDER BY number DESC",
    "SELECT number FROM records INDEXED BY records_by_slot WHERE collection = ?",
    "SELECT number FROM records INDEXED BY sqlite_autoindex_records_1 WHERE collection = ?",
)
_RECORDS = """
SELECT number, id, slot, text, metadata, checksum FROM records NOT INDEXED
WHERE collection = ? AND number IN (SELECT value FROM json_each(?)) ORDER BY number
"""
_IDS = """
SELECT number, id FROM records INDEXED BY sqlite_autoindex_records_1
WHERE collection = ? AND number IN (SELECT value FROM json_each(?)) ORDER BY number
"""

_COUNT = "SELECT count(*) FROM records WHERE collection = ?"


@dataclass(frozen=True, slots=True)
class RawRecord:
    """A record as found in the files.

    `record` is `None` if it can't be decoded, and `vector` if the file of vectors is too short. An
    unreadable record has only its id. `checksum` is the stored checksum, `actual` the one computed
    from the content.
    """

    id: str
    slot: int = -1
    record: Record | None = None
    vector: Vectors | None = None
    checksum: int | None = None
    actual: int | None = None

    @property
    def is_intact(self) -> bool:
        """Whether the content matches its checksum."""
        return self.actual is not None and self.actual == self.checksum

    @property
    def identities(self) -> set[str | int]:
        """Values that identify an intact copy: the stored checksum, or the actual one, in case the
        stored one is damaged; the id of an unreadable record."""
        return {one for one in (self.checksum, self.actual) if one is not None} or {self.id}


class RawReader:
    """Reader of one store, in one snapshot. Methods block, and are not thread-safe.

    Raises, from all methods:
        StoreUnavailable: a file can't be opened or read. With `salvage`, unreadable parts are
            skipped instead.
    """

    def __init__(self, folder: Path, *, salvage: bool = False) -> None:
        self._folder = folder
        self._salvage = False
        with self._failures():
            self._database = sqlite3.connect(
                f"file:{quote(str(folder / FILE))}?mode=rw",
                uri=True,
                check_same_thread=False,
                isolation_level=None,
            )
            self._database.text_factory = lambda value: value.decode(errors="replace")
            self._database.execute("BEGIN")
        self._salvage = salvage

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def find_damage(self) -> list[str]:
        """Run SQLite's integrity check; return its report, or an empty list."""
        query = f"PRAGMA integrity_check({MAX_LINES})"
        try:
            lines = [str(line) for (line,) in self._database.execute(query)]
        except sqlite3.Error as error:
            return [str(error)]
        return [] if lines == ["ok"] else lines

    def collections(self) -> dict[str, Collection]:
        """All collections by name."""
        query = "SELECT name, number, dimensions, model, centre, version FROM collections"
        return {str(name): Collection(*rest) for name, *rest in self._query(query)}

    def values(self) -> dict[str, str]:
        """The key-value table."""
        return {str(key): str(value) for key, value in self._query("SELECT * FROM key_values")}

    def version(self) -> int:
        """The version of the schema."""
        [(version,)] = self._query("PRAGMA user_version")
        return int(version)

    def outbox(self) -> set[tuple[str, str]]:
        """The records that the mirror lacks, by collection and id."""
        return {(str(a), str(b)) for a, b in self._query("SELECT collection, id FROM outbox")}

    def check(self, collection: str) -> tuple[IntegrityReport, list[RawRecord]]:
        """Check all records of a collection and, if they are intact, its indexes.

        Return the report and the damaged records.
        """
        found = self._find(collection)
        centre = np.frombuffer(found.centre or b"", FLOAT)
        codes = self._map(found.number, CODES, WORD, -(-len(centre) // (8 * WORD.itemsize)))
        damaged: list[RawRecord] = []
        records = indexed = words = 0
        codes_match = True
        lengths = self._read_lengths(found.number)
        for step in self.read(collection):
            records += len(step)
            damaged += [one for one in step if not one.is_intact]
            if not damaged:
                pairs = [(one.slot, one.record.metadata) for one in step if one.record]
                indexed += sum(map(hash, entries(pairs)))
                readable = [(one.slot, one.record) for one in step if one.record]
                words += sum_records(readable, lengths) if lengths is not None else 0
                codes_match = codes_match and _match(step, codes, centre)
        problems = [f"{one.id} does not match its checksum" for one in damaged[:MAX_NAMED]]
        if more := len(damaged[MAX_NAMED:]):
            problems.append(f"{more:,} more records do not match their checksums")
        if not damaged and indexed != self._sum_index(found.number):
            problems.append("the metadata index does not match the records")
        if not damaged and self._sum_words(found.number) != words % SUMS:
            problems.append("the keyword index does not match the records")
        if not damaged and not codes_match:
            problems.append("the binary codes do not match the vectors")
        warnings = _describe_build(lengths, records)
        problems, warnings = ([f"{collection}: {one}" for one in x] for x in (problems, warnings))
        return IntegrityReport(records, tuple(problems), tuple(warnings)), damaged

    def describe_builds(self) -> list[str]:
        """Describe the keyword indexes that are being built, without reading any record."""
        lines = []
        for name, found in self.collections().items():
            for (records,) in self._query(_COUNT, found.number):
                state = _describe_build(self._read_lengths(found.number), records)
                lines += [f"{name}: {line}" for line in state]
        return lines

    def read(self, collection: str) -> Iterator[list[RawRecord]]:
        """Read all records in batches, in insertion order.

        Unreadable records have only their ids, as far as an index has these.
        """
        found = self._find(collection)
        vectors: Vectors = self._map(found.number, VECTORS, FLOAT, found.dimensions)
        numbers: set[int] = set()
        for scan in _SCANS:
            numbers.update(number for (number,) in self._query(scan, found.number))
        ordered = sorted(numbers)
        for start in range(0, len(ordered), STEP):
            some = ordered[start : start + STEP]
            rows = self._find_rows(_RECORDS, found.number, some)
            missing = sorted(set(some) - {row[0] for row in rows})
            unreadable = self._find_rows(_IDS, found.number, missing)
            yield [
                *(_read_record(vectors, *row[1:]) for row in rows),
                *(RawRecord(str(id_)) for _, id_ in unreadable),
            ]

    def _find_rows(self, query: str, collection: int, numbers: Sequence[int]) -> list[Any]:
        """Read the rows with these numbers, except unreadable ones."""
        rows = self._query(query, collection, json.dumps(numbers))
        if len(rows) < len(numbers) > 1:
            rows = [row for one in numbers for row in self._find_rows(query, collection, [one])]
        return rows

    def _sum_index(self, number: int) -> int | None:
        """Sum of the hashes of all index entries; `None` if the index can't be decoded."""
        with self._failures(), suppress(StoreUnavailable):
            return sum(map(hash, read_entries(self._database, number)))
        return None

    def _read_lengths(self, number: int) -> Lengths | None:
        """Read the lengths of the keyword index; `None` if they can't be decoded."""
        with self._failures(), suppress(StoreUnavailable):
            return read_lengths(self._database, number)
        return None

    def _sum_words(self, number: int) -> int | None:
        """Sum the keyword index; `None` if it can't be decoded."""
        with self._failures(), suppress(StoreUnavailable):
            return sum_index(self._database, number)
        return None

    def _find(self, name: str) -> Collection:
        """Find a collection; a missing one is treated as empty."""
        return self.collections().get(name, Collection(0, 1, "", None, 0))

    def _map(self, number: int, suffix: str, kind: "np.dtype[Any]", width: int) -> NDArray[Any]:
        """Map the rows of a file, which are loaded on access."""
        path = self._folder / f"{number}{suffix}"
        rows = path.stat().st_size // (width * kind.itemsize) if width and path.exists() else 0
        if not rows:
            return np.empty((0, width), kind)
        return np.memmap(path, kind, "r", shape=(rows, width))

    def _query(self, query: str, *values: object) -> list[Any]:
        rows: list[Any] = []
        with self._failures():
            rows += self._database.execute(query, values)
        return rows

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if not self._salvage:
                raise StoreUnavailable(
                    f"The store in {self._folder} can't be read: {error}. Run quinion rebuild."
                ) from error


def _read_record(
    vectors: Vectors, id_: object, slot: int, text: object, metadata: object, checksum: int
) -> RawRecord:
    """Decode one record. A flipped bit may have changed not only a value but its type."""
    record, actual = None, None
    vector = np.array(vectors[slot]) if slot in range(len(vectors)) else None
    if isinstance(id_, str) and isinstance(text, str) and isinstance(metadata, str):
        with suppress(ValueError, TypeError):
            record = Record(id_, text, dict(json.loads(metadata)))
    if record and vector is not None:
        actual = sum_record(record, vector)
    return RawRecord(str(id_), slot, record, vector, checksum, actual)


def _describe_build(lengths: Lengths | None, records: int) -> list[str]:
    """Describe how far the keyword index of that many records is, if it is not complete."""
    done = records if lengths is None else int(np.count_nonzero(lengths))
    if done >= records:
        return []
    return [f"the keyword index is being built: {done:,} of {records:,} records"]


def _match(intact: Sequence[RawRecord], codes: NDArray[Any], centre: Vectors) -> bool:
    """Whether the binary codes match the records' vectors; true if there are no codes."""
    if not len(centre) or not intact:
        return True
    slots = [one.slot for one in intact]
    vectors = np.array([one.vector for one in intact])
    return max(slots) < len(codes) and np.array_equal(codes[slots], encode(vectors, centre))
