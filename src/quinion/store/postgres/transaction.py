"""Transaction of the store: one transaction of PostgreSQL over all collections."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from psycopg import Connection
from psycopg.sql import SQL

from quinion.errors import InvalidInput, StoreUnavailable, TransactionConflict
from quinion.lexical.tokens import ANALYSIS
from quinion.model.record import Metadata, Record, read_context
from quinion.store.base import Selector, Vectors
from quinion.store.postgres import keyword_index, outbox
from quinion.store.postgres.rows import Collection, find_selected, is_current, lock_collection
from quinion.store.postgres.schema import (
    MAX_INDEXED_NUMBER,
    create_tables,
    create_vector_index,
    tables,
)
from quinion.store.postgres.values import dump_filterable, dump_metadata, encode_text

INDEX_FROM = 5_000
"""Number of records from which a collection has an HNSW index. Below it, an exact search is as
fast, and writing is faster."""

_CREATE = """
INSERT INTO collections (name, dimensions, analysis) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING
RETURNING number
"""
_BUMP = "UPDATE collections SET version = version + 1, records = records + %s WHERE number = %s"
_ADOPT = "UPDATE collections SET model = %s WHERE number = %s AND records = 0 AND model = ''"
_WRITE = SQL("""
INSERT INTO {records} (slot, id, text, metadata, filterable) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (id) DO UPDATE SET text = excluded.text, metadata = excluded.metadata,
    filterable = excluded.filterable
""")
_WRITE_VECTOR = SQL("""
INSERT INTO {vectors} (slot, vector) VALUES (%s, %b)
ON CONFLICT (slot) DO UPDATE SET vector = excluded.vector
""")
_UPDATE = SQL("UPDATE {records} SET metadata = %s, filterable = %s WHERE slot = %s")
_DELETE = SQL("DELETE FROM {records} WHERE slot = ANY(%s)")
_DELETE_VECTORS = SQL("DELETE FROM {vectors} WHERE slot = ANY(%s)")
_DROP = "DELETE FROM collections WHERE number = %s RETURNING records"
_NOTE_DROPPED = "INSERT INTO dropped_collections VALUES (%s, pg_current_xact_id())"
_SET = """
INSERT INTO key_values (key, value) VALUES (%s, %s)
ON CONFLICT (key) DO UPDATE SET value = excluded.value
"""


class PostgresTransaction:
    """Changes on a writer's connection; implements `store.base.Transaction`.

    It locks each collection at its first use, so that blocks of postings have one writer, and
    nothing changes between what it reads and what it writes. `dropped`: a collection was deleted,
    whose tables are dropped later.
    """

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection
        self._is_mirrored = outbox.is_enabled(connection)
        self.dropped = False

    def model(self, collection: str) -> str:
        found = lock_collection(self._connection, collection)
        return found.model if found else ""

    def upsert(
        self, collection: str, records: Sequence[Record], vectors: Vectors, model: str
    ) -> None:
        if not records:
            return
        last = {record.id: place for place, record in enumerate(records)}
        if len(last) < len(records):
            records, vectors = [records[n] for n in last.values()], vectors[[*last.values()]]
        found = self._open(collection, vectors.shape[1], model)
        if found.indexed and np.abs(vectors).max() > MAX_INDEXED_NUMBER:
            raise InvalidInput(
                f"A vector of {collection} has a number above {MAX_INDEXED_NUMBER:,.0f}. Use an "
                "embedding model with unit vectors."
            )
        old = find_selected(self._connection, found.number, [record.id for record in records])
        slots = {record.id: slot for slot, record in old}
        new = [record.id for record in records if record.id not in slots]
        free = keyword_index.assign_slots(self._connection, found.number, len(new))
        slots |= dict(zip(new, free, strict=True))
        placed = [(slots[record.id], record) for record in records]
        self._write(found.number, placed, vectors)
        keyword_index.change(self._connection, found.number, removed=old, added=placed)
        self._bump(found.number, len(new))
        self._index_vectors(found, found.records + len(new))
        self._add_to_outbox(collection, records)

    def update_metadata(self, selector: Selector, values: Metadata) -> int:
        found = lock_collection(self._connection, selector.collection)
        if found is None:
            return 0
        old = find_selected(self._connection, found.number, selector.ids, selector.where)
        new = [(slot, Record(one.id, one.text, {**one.metadata, **values})) for slot, one in old]
        self._connection.cursor().executemany(
            _UPDATE.format(**tables(found.number)),
            [
                (dump_metadata(record.metadata), dump_filterable(record.metadata), slot)
                for slot, record in new
            ],
        )
        moved = [
            read_context(after.metadata) != read_context(before.metadata)
            for (_, before), (_, after) in zip(old, new, strict=True)
        ]
        if any(moved):
            _check_current(found)
            keyword_index.change(
                self._connection,
                found.number,
                removed=[one for one, is_moved in zip(old, moved, strict=True) if is_moved],
                added=[one for one, is_moved in zip(new, moved, strict=True) if is_moved],
            )
        self._bump(found.number, 0)
        self._add_to_outbox(selector.collection, [record for _, record in new])
        return len(new)

    def delete(self, selector: Selector) -> int:
        found = lock_collection(self._connection, selector.collection)
        if found is None:
            return 0
        if selector.is_everything:
            if self._is_mirrored:
                outbox.add_drop(self._connection, selector.collection)
            return self._drop(found.number)
        _check_current(found)
        old = find_selected(self._connection, found.number, selector.ids, selector.where)
        slots = [slot for slot, _ in old]
        for statement in (_DELETE, _DELETE_VECTORS):
            self._connection.execute(statement.format(**tables(found.number)), (slots,))
        keyword_index.change(self._connection, found.number, removed=old)
        self._bump(found.number, -len(old))
        self._add_to_outbox(selector.collection, [record for _, record in old])
        return len(old)

    def set_value(self, key: str, value: str) -> None:
        self._connection.execute(_SET, (encode_text(key), encode_text(value)))

    def delete_value(self, key: str) -> None:
        self._connection.execute("DELETE FROM key_values WHERE key = %s", (encode_text(key),))

    def _open(self, collection: str, dimensions: int, model: str) -> Collection:
        """Open a collection, and create it if necessary; an empty one adopts the model."""
        found = lock_collection(self._connection, collection)
        if found is None:
            found = self._create(collection, dimensions, model)
        if found.dimensions != dimensions:
            raise InvalidInput(
                f"The vectors of {collection} have {found.dimensions} dimensions, but the new ones "
                f"have {dimensions}. Use another collection, or the embedding model that it was "
                "made with."
            )
        _check_current(found)
        if model:
            self._connection.execute(_ADOPT, (model, found.number))
        return found

    def _create(self, collection: str, dimensions: int, model: str) -> Collection:
        """Create a collection, or find the one that another transaction has just created.

        Raises:
            TransactionConflict: that one has another model, or is deleted again.
        """
        values = encode_text(collection), dimensions, ANALYSIS
        created = self._connection.execute(_CREATE, values).fetchone()
        if created:
            create_tables(self._connection, created[0], dimensions)
        found = lock_collection(self._connection, collection)
        if found is None or (not created and model and found.model != model):
            raise TransactionConflict(f"{collection} was created by another engine. Try again.")
        return found

    def _write(self, number: int, placed: Sequence[tuple[int, Record]], vectors: Vectors) -> None:
        cursor = self._connection.cursor()
        cursor.executemany(
            _WRITE.format(**tables(number)),
            [
                (
                    slot,
                    encode_text(record.id),
                    encode_text(record.text),
                    dump_metadata(record.metadata),
                    dump_filterable(record.metadata),
                )
                for slot, record in placed
            ],
        )
        slots = [slot for slot, _ in placed]
        cursor.executemany(
            _WRITE_VECTOR.format(**tables(number)), list(zip(slots, vectors, strict=True))
        )

    def _add_to_outbox(self, collection: str, records: Iterable[Record]) -> None:
        if self._is_mirrored:
            outbox.add(self._connection, collection, (record.id for record in records))

    def _bump(self, number: int, added: int) -> None:
        """Increment a collection's version, by which readers cache, and count its records."""
        self._connection.execute(_BUMP, (added, number))

    def _index_vectors(self, collection: Collection, records: int) -> None:
        """Create the vector index of a collection that has become large."""
        if collection.indexed or records < INDEX_FROM:
            return
        if create_vector_index(self._connection, collection.number, collection.dimensions):
            query = "UPDATE collections SET indexed = true WHERE number = %s"
            self._connection.execute(query, (collection.number,))

    def _drop(self, number: int) -> int:
        row = self._connection.execute(_DROP, (number,)).fetchone()
        self._connection.execute(_NOTE_DROPPED, (number,))
        self.dropped = True
        return int(row[0]) if row else 0


def _check_current(collection: Collection) -> None:
    """Check that this version analyses texts as the keyword index has them.

    Raises:
        StoreUnavailable: another version of quinion made the index.
    """
    if not is_current(collection):
        raise StoreUnavailable(
            "Another version of quinion made the keyword index of this database. Restart this "
            "server with the newest version."
        )
