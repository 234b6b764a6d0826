"""Store in PostgreSQL: all records with their vectors, in one database.

A document is one transaction over records, vectors and keyword index. Any number of engines use one
database; writers of one collection wait for each other. Readers do not wait, because each reads its
own snapshot.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from psycopg import errors
from psycopg.sql import SQL

from quinion.errors import InvalidInput, StoreUnavailable
from quinion.lexical.word_query import WordQuery
from quinion.model.record import Hit, Record, score_of_distance
from quinion.store.base import IntegrityReport, Mirror, MirrorLag, Rank, Selector, Vectors
from quinion.store.filters import Where
from quinion.store.keywords.word_search import search_words
from quinion.store.leases import held_leases
from quinion.store.postgres import checking
from quinion.store.postgres.database import Database
from quinion.store.postgres.leases import PostgresLeases, check_leases
from quinion.store.postgres.outbox import PostgresOutbox
from quinion.store.postgres.rows import (
    count_selected,
    find_by_slots,
    find_collection,
    find_newest,
    find_selected,
    is_current,
    list_collections,
)
from quinion.store.postgres.schema import drop_tables, tables
from quinion.store.postgres.standby import repeated
from quinion.store.postgres.transaction import PostgresTransaction
from quinion.store.postgres.values import decode_text, encode_wanted
from quinion.store.postgres.vector_search import find_nearest
from quinion.store.postgres.word_index import Cache, PostgresWordIndex

_VECTORS = SQL("SELECT slot, vector FROM {vectors} WHERE slot = ANY(%s)")
# No transaction may have a snapshot in which the collection exists.
_DROPPABLE = """
SELECT number FROM dropped_collections WHERE NOT EXISTS (
    SELECT FROM pg_stat_activity WHERE datname = current_database()
    AND age(backend_xmin) >= age(dropped::xid)
)
"""
_UNDROPPED = "SELECT 1 FROM dropped_collections LIMIT 1"
_LOCK_TIMEOUT = "SET LOCAL lock_timeout = '1s'"


class PostgresStore:
    """Store in the database at an address; implements `store.base.VectorStore`.

    A `standby` of the database answers reads. Changes are added to the outbox for `mirror`, which
    the factory sets.
    """

    def __init__(self, url: str, standby: str | None = None) -> None:
        self._database = Database(url, standby)
        self.leases = PostgresLeases(self._database)
        self.outbox = PostgresOutbox(self._database)
        self.mirror: Mirror | None = None
        self._cache = Cache()
        try:
            with self._database.write() as connection:
                checking.rebuild_outdated(connection)
                self._has_dropped = connection.execute(_UNDROPPED).fetchone() is not None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the mirror, which first sends the rest of the outbox, and then all connections."""
        if self.mirror:
            self.mirror.close()
        self.leases.close()
        self._database.close()

    @contextmanager
    def transaction(self) -> Iterator[PostgresTransaction]:
        with self._database.write() as connection:
            check_leases(connection, held_leases())
            transaction = PostgresTransaction(connection)
            yield transaction
        if self.mirror:
            self.mirror.notify()
        self._has_dropped |= transaction.dropped
        if self._has_dropped:
            self._drop_tables()

    @repeated
    def get(
        self, collection: str, *, ids: Sequence[str] | None = None, where: Where | None = None
    ) -> list[Record]:
        with self._database.read() as connection:
            found = find_collection(connection, collection)
            if found is None:
                return []
            return [one for _, one in find_selected(connection, found.number, ids, where)]

    @repeated
    def get_newest(
        self, collection: str, offset: int, limit: int, where: Where | None = None
    ) -> list[Record]:
        with self._database.read() as connection:
            found = find_collection(connection, collection)
            return find_newest(connection, found.number, offset, limit, where) if found else []

    @repeated
    def get_with_vectors(self, selector: Selector) -> tuple[list[Record], Vectors]:
        with self._database.read() as connection:
            found = find_collection(connection, selector.collection)
            rows = (
                find_selected(connection, found.number, selector.ids, selector.where)
                if found
                else []
            )
            if found is None or not rows:
                return [], np.empty((0, 0), np.float32)
            slots = [slot for slot, _ in rows]
            query = _VECTORS.format(**tables(found.number))
            vectors = dict(connection.execute(query, (slots,), binary=True).fetchall())
            if len(vectors) < len(slots):
                raise StoreUnavailable(
                    f"Records of {selector.collection} lack their vectors. Run quinion verify."
                )
            return [one for _, one in rows], np.stack([vectors[slot] for slot in slots])

    @repeated
    def search_vectors(
        self, collection: str, vector: Vectors, limit: int, where: Where | None = None
    ) -> list[Hit]:
        with self._database.read() as connection:
            found = find_collection(connection, collection)
            if found is None:
                return []
            slots, cosines = find_nearest(connection, found, vector, limit, where)
            records = find_by_slots(connection, found.number, slots)
            # The same rounding as in the embedded store.
            distances = np.maximum(2.0 - 2.0 * cosines, 0.0)
            return [
                Hit(records[slot], score_of_distance(distance))
                for slot, distance in zip(slots.tolist(), distances.tolist(), strict=True)
            ]

    @repeated
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
        with self._database.read() as connection:
            found = find_collection(connection, collection)
            if found is None or not found.records:
                return []
            if not is_current(found):
                raise StoreUnavailable(
                    "Another version of quinion made the keyword index of this database. Restart "
                    "this server with the newest version, or search in the mode semantic."
                )
            index = PostgresWordIndex(connection, found, self._cache, where)
            return search_words(index, query, vector, limit, rank, nearest)

    @repeated
    def count(self, selector: Selector) -> int:
        with self._database.read() as connection:
            found = find_collection(connection, selector.collection)
            if found is None:
                return 0
            if selector.is_everything:
                return found.records
            return count_selected(connection, found.number, selector)

    @repeated
    def collections(self) -> list[str]:
        with self._database.read() as connection:
            return list_collections(connection)

    @repeated
    def model(self, collection: str) -> str:
        with self._database.read() as connection:
            found = find_collection(connection, collection)
            return found.model if found else ""

    @repeated
    def values(self, prefix: str = "") -> dict[str, str]:
        with self._database.read() as connection:
            query = "SELECT key, value FROM key_values WHERE starts_with(key, %s)"
            rows = connection.execute(query, (encode_wanted(prefix),)).fetchall()
            return {decode_text(key): decode_text(value) for key, value in rows}

    def refresh(self) -> None:
        self._database.refresh()

    def mirror_lag(self) -> MirrorLag:
        pending = sum(self.outbox.count().values()) if self.mirror else 0
        return MirrorLag(pending, self.mirror.lag_s()) if self.mirror and pending else MirrorLag()

    def check_files(self) -> list[str]:
        """Nothing: PostgreSQL checks its own files."""
        return []

    def check(self, collection: str, *, repair: bool = False) -> IntegrityReport:
        """Check all records and their indexes; with `repair`, rebuild the indexes."""
        if repair:
            with self._database.write() as connection:
                report = checking.repair(connection, collection)
        else:
            with self._database.read(primary=True) as connection:
                report = checking.check(connection, collection)
        warnings = self.mirror.check(collection, repair=repair) if self.mirror else []
        return replace(report, warnings=(*report.warnings, *warnings))

    def list_checksums(self, collection: str) -> dict[str, int]:
        """Compute the checksums of all records by id, in insertion order."""
        with self._database.read(primary=True) as connection:
            found = find_collection(connection, collection)
            return checking.sum_contents(connection, found.number) if found else {}

    @contextmanager
    def freeze_writes(self) -> Iterator[None]:
        with self._database.freeze():
            yield

    def copy_to(self, folder: Path) -> None:
        raise InvalidInput(
            f"The store is in the database at {self._database.address}. Back that up with the "
            "tools of PostgreSQL (pg_dump --schema=quinion), and copy the folder of the home."
        )

    def _drop_tables(self) -> None:
        """Drop the tables of deleted collections that no transaction can read any more.

        A failure is no error of the transaction before, which is committed: they are dropped later.
        """
        with suppress(StoreUnavailable), self._database.write() as connection:
            for (number,) in connection.execute(_DROPPABLE).fetchall():
                try:
                    with connection.transaction():
                        connection.execute(_LOCK_TIMEOUT)
                        drop_tables(connection, number)
                        delete = "DELETE FROM dropped_collections WHERE number = %s"
                        connection.execute(delete, (number,))
                except errors.LockNotAvailable:
                    pass  # it is dropped after a later transaction
            self._has_dropped = connection.execute(_UNDROPPED).fetchone() is not None
