"""Embedded store: all records with their vectors, in one folder or in memory.

`store.db` (SQLite) has texts and metadata, `vectors` has the vectors, `metadata_index` finds
records by their metadata, and `outbox` lists the changes that the mirror lacks. A document is one
transaction over all of them. There is one writer at a time. Readers do not wait for it, because
each reads its own snapshot.
"""

import json
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from quinion.errors import InvalidInput
from quinion.lexical.word_query import WordQuery
from quinion.model.record import Hit, Record, score_of_distance
from quinion.store.archive import copy_database
from quinion.store.base import IntegrityReport, Mirror, MirrorLag, Rank, Selector, Vectors
from quinion.store.checksum import sum_record
from quinion.store.embedded import metadata_index, outbox
from quinion.store.embedded.bitmap import Mask
from quinion.store.embedded.database import FILE, Database
from quinion.store.embedded.keywords import keyword_index
from quinion.store.embedded.keywords.builder import IndexBuilder, is_complete
from quinion.store.embedded.keywords.scoring import Scoring
from quinion.store.embedded.keywords.word_search import EmbeddedWordIndex
from quinion.store.embedded.metadata_index import all_slots, decoding, find_candidates, is_exact
from quinion.store.embedded.outbox import Outbox
from quinion.store.embedded.raw_reader import RawReader, RawRecord
from quinion.store.embedded.rows import (
    StoredRow,
    count_slots,
    dump,
    find_by_slots,
    find_collection,
    find_newest,
    find_rows,
    find_selected,
    list_collections,
)
from quinion.store.embedded.snapshots import Snapshots
from quinion.store.embedded.transaction import EmbeddedTransaction
from quinion.store.embedded.vectors.vector_index import (
    CODES,
    VECTORS,
    Collection,
    VectorIndex,
    check_not_lost,
)
from quinion.store.filters import Where, matches
from quinion.store.keywords.word_search import search_words

_REPAIR = """
UPDATE records SET text = ?, metadata = ?, checksum = ?
WHERE collection = ? AND slot = ? AND checksum = ?
"""
# Only numbers that this database has assigned: others may belong to a store that was lost.
_DROPPED = """
SELECT value FROM json_each(?)
WHERE value <= (SELECT seq FROM sqlite_sequence WHERE name = 'collections')
    AND value NOT IN (SELECT number FROM collections)
    AND NOT EXISTS (SELECT 1 FROM records WHERE collection = value)
"""
WIDEN_FACTOR = 8
"""Growth of the number of candidates, each time that too few of the nearest match the filter."""


class EmbeddedStore:
    """Store in a folder, or in memory if `folder` is `None`; implements `store.base.VectorStore`.

    With `mirrored`, changes are added to the outbox for `mirror`, which the factory sets. They are
    also added while an earlier mirror is switched off, so that it can be updated later.
    """

    leases = None

    def __init__(self, folder: Path | None, *, mirrored: bool = False) -> None:
        self.folder = folder
        if folder:
            check_not_lost(folder)
        self.mirror: Mirror | None = None
        self.builder: IndexBuilder | None = None
        self._database = Database(folder)
        self.outbox = Outbox(self._database)
        self._snapshots = Snapshots(self._drop_files)
        self._vectors = VectorIndex(folder)
        self._transactions = threading.RLock()
        self._scoring = Scoring()
        self._live: dict[int, tuple[int, Mask]] = {}
        self._cache_lock = threading.Lock()
        with self._read() as database:
            self._mirrored = mirrored or outbox.was_used(database)
        with self._database.write() as database:
            keyword_index.prepare(database)
        self._delete_dropped_files()

    def close(self) -> None:
        """Close the mirror, which first sends the rest of the outbox, and then the files."""
        if self.builder:
            self.builder.close()
        if self.mirror:
            self.mirror.close()
        self._vectors.close()
        self._database.close()

    def complete_keywords(self) -> None:
        """Start to index records that are not in the keyword index yet, in the background."""
        with self._read() as database:
            if self.folder and not is_complete(database):
                self.builder = IndexBuilder(self._database)

    @contextmanager
    def transaction(self) -> Iterator[EmbeddedTransaction]:
        with self._transactions:
            with self._database.write() as database:
                transaction = EmbeddedTransaction(
                    database, self._vectors, self._snapshots, mirrored=self._mirrored
                )
                yield transaction
            # Before the next transaction, which must not use these slots yet.
            self._snapshots.retire(transaction.retired)
        if self.mirror:
            self.mirror.notify()

    def get(
        self, collection: str, *, ids: Sequence[str] | None = None, where: Where | None = None
    ) -> list[Record]:
        with self._read() as database:
            found = find_collection(database, collection)
            rows = find_rows(database, found.number, ids, where) if found else []
            return [row.record for row in rows]

    def get_newest(
        self, collection: str, offset: int, limit: int, where: Where | None = None
    ) -> list[Record]:
        with self._read() as database:
            found = find_collection(database, collection)
            rows = find_newest(database, found.number, offset, limit, where) if found else []
            return [row.record for row in rows]

    def get_with_vectors(self, selector: Selector) -> tuple[list[Record], Vectors]:
        with self._read() as database:
            found = find_collection(database, selector.collection)
            rows = find_selected(database, found.number, selector) if found else []
            if found is None or not rows:
                return [], np.empty((0, 0), np.float32)
            return [row.record for row in rows], self._read_vectors(database, found, rows)

    def search_vectors(
        self, collection: str, vector: Vectors, limit: int, where: Where | None = None
    ) -> list[Hit]:
        with self._read() as database:
            found = find_collection(database, collection)
            if found is None:
                return []
            mask = self._find_mask(database, found, where)
            candidate_limit = limit
            while True:
                slots, distances = self._vectors.nearest(
                    database, found, vector, candidate_limit, mask
                )
                rows = find_by_slots(database, found.number, slots.tolist())
                records = {row.slot: row.record for row in rows}
                with decoding():
                    hits = [
                        Hit(records[slot], score_of_distance(distance))
                        for slot, distance in zip(slots.tolist(), distances.tolist(), strict=True)
                        if not where or matches(records[slot].metadata, where)
                    ]
                if len(hits) >= limit or len(slots) < candidate_limit:
                    return hits[:limit]
                candidate_limit *= WIDEN_FACTOR

    def search_words(
        self,
        collection: str,
        query: WordQuery,
        vector: Vectors,
        limit: int,
        rank: Rank,
        *,
        nearest: int = 0,
        where: Where | None = None,
    ) -> list[Hit]:
        with self._read() as database:
            found = find_collection(database, collection)
            if found is None:
                return []
            live, mask = self._find_live(database, found), self._find_mask(database, found, where)
            if where and is_exact(database, found.number, where):
                where = None  # the mask has the matching records only
            index = EmbeddedWordIndex(
                database, found, self._scoring, self._vectors, live, mask, where
            )
            index.check_complete(required=not nearest)
            return search_words(index, query, vector, limit, rank, nearest)

    def count(self, selector: Selector) -> int:
        with self._read() as database:
            found = find_collection(database, selector.collection)
            if found is None:
                return 0
            if selector.is_everything:
                return int(np.count_nonzero(self._find_live(database, found)))
            return len(find_selected(database, found.number, selector))

    def collections(self) -> list[str]:
        with self._read() as database:
            return list_collections(database)

    def model(self, collection: str) -> str:
        with self._read() as database:
            found = find_collection(database, collection)
            return found.model if found else ""

    def values(self, prefix: str = "") -> dict[str, str]:
        with self._read() as database:
            query = "SELECT key, value FROM key_values WHERE substr(key, 1, ?) = ?"
            return dict(database.execute(query, (len(prefix), prefix)).fetchall())

    def refresh(self) -> None:
        """Nothing: there is no other engine."""

    def mirror_lag(self) -> MirrorLag:
        pending = sum(self.outbox.count().values()) if self.mirror else 0
        return MirrorLag(pending, self.mirror.lag_s()) if self.mirror and pending else MirrorLag()

    def check_files(self) -> list[str]:
        if self.folder is None:
            return []
        with closing(RawReader(self.folder)) as reader:
            return [
                f"{self.folder / FILE}: {line}. Stop the server and run quinion rebuild"
                for line in reader.find_damage()
            ]

    def check(self, collection: str, *, repair: bool = False) -> IntegrityReport:
        """Check all records and both indexes; with `repair`, repair them from the mirror."""
        if self.folder is None:
            return IntegrityReport(self.count(Selector.everything(collection)))
        report, damaged = self._check(self.folder, collection)
        before = report.problems
        if repair and before:
            self._repair(self.folder, collection, damaged)
            report, damaged = self._check(self.folder, collection)
        # A damaged record must not reach the mirror, which may have the only intact copy.
        can_send = repair and not damaged
        warnings = [*report.warnings]
        warnings += self.mirror.check(collection, repair=can_send) if self.mirror else []
        repaired = tuple(line for line in before if line not in report.problems)
        return replace(report, warnings=tuple(warnings), repaired=repaired)

    @contextmanager
    def freeze_writes(self) -> Iterator[None]:
        with self._database.freeze():
            yield

    def copy_to(self, folder: Path) -> None:
        """Copy the database, the vectors and their codes."""
        if self.folder is None:
            raise InvalidInput("The store is in memory, so it has no files to back up.")
        copy_database(self.folder / FILE, folder / FILE)
        for path in (*self.folder.glob(f"*{VECTORS}"), *self.folder.glob(f"*{CODES}")):
            shutil.copyfile(path, folder / path.name)

    def list_checksums(self, collection: str) -> dict[str, int]:
        """List the stored checksums of all records by id, in insertion order."""
        with self._read() as database:
            found = find_collection(database, collection)
            query = "SELECT id, checksum FROM records WHERE collection = ? ORDER BY number"
            return dict(database.execute(query, (found.number,)).fetchall()) if found else {}

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        """Open a connection on one snapshot, whose slots are not overwritten meanwhile."""
        with self._snapshots.hold(), self._database.read() as database:
            yield database

    def _find_live(self, database: sqlite3.Connection, collection: Collection) -> Mask:
        """Find the slots that have records, cached by the collection's version."""
        known = self._live.get(collection.number)
        if known is None or known[0] != collection.version:
            size = count_slots(database, collection.number)
            known = collection.version, all_slots(database, collection.number, size)
            with self._cache_lock:
                if self._live.get(collection.number, (-1,))[0] < collection.version:
                    self._live[collection.number] = known
        return known[1]

    def _find_mask(
        self, database: sqlite3.Connection, collection: Collection, where: Where | None
    ) -> Mask:
        """Find the slots of all records that match the filter, and perhaps of others."""
        live = self._find_live(database, collection)
        mask = find_candidates(database, collection.number, where, len(live)) if where else None
        return live if mask is None else mask

    def _read_vectors(
        self, database: sqlite3.Connection, collection: Collection, rows: Sequence[StoredRow]
    ) -> Vectors:
        with decoding():
            file = self._vectors.vectors(database, collection)
            return file.read(np.fromiter((row.slot for row in rows), np.int64, len(rows)))

    def _drop_files(self, number: int) -> None:
        """Delete the files of a collection that no snapshot uses any more."""
        self._vectors.drop(number)
        self._live.pop(number, None)
        self._scoring.drop(number)

    def _check(self, folder: Path, collection: str) -> tuple[IntegrityReport, list[RawRecord]]:
        with self._snapshots.hold(), closing(RawReader(folder)) as reader:
            return reader.check(collection)

    def _repair(self, folder: Path, collection: str, damaged: Sequence[RawRecord]) -> None:
        """Write the mirror's intact copies over damaged records, and rebuild the indexes."""
        ids = [one.id for one in damaged]
        copies = self.mirror.fetch(collection, ids) if self.mirror and ids else {}
        with self._database.write() as database:
            found = find_collection(database, collection)
            if found is None:  # it was dropped meanwhile
                return
            with closing(self._vectors.open_file(found)) as vectors:
                for one in damaged:
                    if one.id not in copies or sum_record(*copies[one.id]) not in one.identities:
                        continue
                    record, vector = copies[one.id]
                    values = record.text, dump(record.metadata), sum_record(record, vector)
                    where = (
                        found.number,
                        one.slot,
                        one.checksum,
                    )  # skips changed ones
                    if database.execute(_REPAIR, (*values, *where)).rowcount:
                        vectors.write(np.array([one.slot]), vector.reshape(1, -1))
                vectors.sync()
        self._rebuild_indexes(folder, collection)

    def _rebuild_indexes(self, folder: Path, collection: str) -> None:
        """Rebuild the metadata index, the keyword index and the binary codes from the records."""
        with self._database.write() as database, closing(RawReader(folder)) as reader:
            found = find_collection(database, collection)
            if found is None:
                return
            metadata_index.drop(database, found.number)
            keyword_index.drop(database, found.number)
            for step in reader.read(collection):
                readable = [(one.slot, one.record) for one in step if one.record]
                entries = [(slot, record.metadata) for slot, record in readable]
                metadata_index.change(database, found.number, added=entries)
                keyword_index.change(database, found.number, added=readable)
            database.execute(
                "UPDATE collections SET version = version + 1 WHERE number = ?", (found.number,)
            )
            self._vectors.rebuild(database, found)

    def _delete_dropped_files(self) -> None:
        """Delete the files of collections that a killed process had dropped."""
        if self.folder is None:
            return
        names = [path.stem for path in self.folder.glob(f"*{VECTORS}")]
        numbers = json.dumps([int(name) for name in names if name.isdecimal()])
        with self._read() as database:
            dropped = database.execute(_DROPPED, (numbers,)).fetchall()
        for (number,) in dropped:
            self._vectors.drop(number)
