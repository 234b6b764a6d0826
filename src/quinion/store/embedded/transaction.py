"""Transaction of the embedded store: one SQLite transaction over all collections."""

import json
import sqlite3
from collections.abc import Sequence
from itertools import chain, count, islice

import numpy as np

from quinion.errors import InvalidInput
from quinion.model.record import Metadata, Record, read_context
from quinion.store.base import Selector, Vectors
from quinion.store.checksum import sum_metadata, sum_record
from quinion.store.embedded import metadata_index, outbox
from quinion.store.embedded.bitmap import Slots
from quinion.store.embedded.keywords import keyword_index
from quinion.store.embedded.rows import (
    StoredRow,
    bump_version,
    count_slots,
    dump,
    find_by_ids,
    find_collection,
    find_selected,
)
from quinion.store.embedded.snapshots import Retired, Snapshots
from quinion.store.embedded.vectors.vector_index import Collection, VectorIndex

_WRITE = """
INSERT INTO records (collection, id, slot, text, metadata, checksum) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (collection, id) DO UPDATE SET slot = excluded.slot, text = excluded.text,
    metadata = excluded.metadata, checksum = excluded.checksum
"""
# SQLite has no operator for exclusive or.
_WRITE_METADATA = """
UPDATE records SET metadata = :new, checksum = (checksum | :change) - (checksum & :change)
WHERE collection = :collection AND slot = :slot
"""
_USED = """
SELECT slot FROM records WHERE collection = ? AND slot IN (SELECT value FROM json_each(?))
"""


class EmbeddedTransaction:
    """Changes on the writer's connection; implements `store.base.Transaction`.

    `retired` has the slots and files that this transaction frees; older snapshots may use them.
    """

    def __init__(
        self,
        database: sqlite3.Connection,
        vectors: VectorIndex,
        snapshots: Snapshots,
        *,
        mirrored: bool,
    ) -> None:
        self._database = database
        self._vectors = vectors
        self._snapshots = snapshots
        self._mirrored = mirrored
        self.retired = Retired()

    def model(self, collection: str) -> str:
        found = find_collection(self._database, collection)
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
        old = find_by_ids(self._database, found.number, [record.id for record in records])
        slots = self._assign(found.number, len(records))
        self._vectors.write(self._database, found, slots, vectors)
        self._database.executemany(
            _WRITE,
            [
                (
                    found.number,
                    record.id,
                    slot,
                    record.text,
                    dump(record.metadata),
                    sum_record(record, vector),
                )
                for record, slot, vector in zip(records, slots.tolist(), vectors, strict=True)
            ],
        )
        metadata_index.change(
            self._database,
            found.number,
            removed=_index(old),
            added=[(slot, r.metadata) for r, slot in zip(records, slots.tolist(), strict=True)],
        )
        keyword_index.change(
            self._database,
            found.number,
            removed=_with_slots(old),
            added=zip(slots.tolist(), records, strict=True),
        )
        self._retire(found.number, old)
        self._add_to_outbox(collection, [record.id for record in records])

    def update_metadata(self, selector: Selector, values: Metadata) -> int:
        found = bump_version(self._database, selector.collection)
        if found is None:
            return 0
        rows = find_selected(self._database, found.number, selector)
        old = _index(rows)
        changes = [(slot, before, {**before, **values}) for slot, before in old]
        self._database.executemany(
            _WRITE_METADATA,
            [
                {
                    "new": dump(after),
                    "change": sum_metadata(before) ^ sum_metadata(after),
                    "collection": found.number,
                    "slot": slot,
                }
                for slot, before, after in changes
            ],
        )
        new = [(slot, after) for slot, _, after in changes]
        metadata_index.change(self._database, found.number, removed=old, added=new)
        self._update_context(found.number, rows, values)
        self._add_to_outbox(selector.collection, [row.record.id for row in rows])
        return len(rows)

    def delete(self, selector: Selector) -> int:
        found = bump_version(self._database, selector.collection)
        if found is None:
            return 0
        if selector.is_everything:
            return self._drop(selector.collection, found.number)
        rows = find_selected(self._database, found.number, selector)
        self._database.executemany(
            "DELETE FROM records WHERE collection = ? AND id = ?",
            [(found.number, row.record.id) for row in rows],
        )
        metadata_index.change(self._database, found.number, removed=_index(rows))
        keyword_index.change(self._database, found.number, removed=_with_slots(rows))
        self._retire(found.number, rows)
        self._add_to_outbox(selector.collection, [row.record.id for row in rows])
        return len(rows)

    def set_value(self, key: str, value: str) -> None:
        self._database.execute(
            "INSERT OR REPLACE INTO key_values (key, value) VALUES (?, ?)", (key, value)
        )

    def delete_value(self, key: str) -> None:
        self._database.execute("DELETE FROM key_values WHERE key = ?", (key,))

    def _open(self, collection: str, dimensions: int, model: str) -> Collection:
        """Open a collection, and create it if necessary; an empty one adopts the model."""
        self._database.execute(
            "INSERT OR IGNORE INTO collections (name, dimensions) VALUES (?, ?)",
            (collection, dimensions),
        )
        found = bump_version(self._database, collection)
        assert found is not None
        if found.dimensions != dimensions:
            raise InvalidInput(
                f"The vectors of {collection} have {found.dimensions} dimensions, but the new ones "
                f"have {dimensions}. Use another collection, or the embedding model that it was "
                "made with."
            )
        if model and not found.model:
            self._database.execute(
                "UPDATE collections SET model = ? WHERE number = ? "
                "AND NOT EXISTS (SELECT 1 FROM records WHERE collection = collections.number)",
                (model, found.number),
            )
        return found

    def _assign(self, number: int, wanted: int) -> Slots:
        """Assign slots that no record has and no snapshot reads, lowest first."""
        retired = self._snapshots.retired(number) | self.retired.slots.get(number, set())
        end = count_slots(self._database, number)
        free = np.flatnonzero(~metadata_index.all_slots(self._database, number, end)).tolist()
        free = [slot for slot in free if slot not in retired][:wanted]
        # The index may be damaged: check that no record uses these slots.
        used = {slot for (slot,) in self._database.execute(_USED, (number, json.dumps(free)))}
        blocked = used | retired
        unused = (slot for slot in chain(free, count(end)) if slot not in blocked)
        return np.fromiter(islice(unused, wanted), np.int64, wanted)

    def _update_context(self, number: int, rows: Sequence[StoredRow], values: Metadata) -> None:
        """Update the keyword index where what a record stands under has changed."""
        old, new = [], []
        for row in rows:
            record = row.record
            after = {**record.metadata, **values}
            if read_context(after) != read_context(record.metadata):
                old.append((row.slot, record))
                new.append((row.slot, Record(record.id, record.text, after)))
        keyword_index.change(self._database, number, removed=old, added=new)

    def _retire(self, number: int, rows: Sequence[StoredRow]) -> None:
        """Free the slots of records for later transactions."""
        self.retired.slots.setdefault(number, set()).update(row.slot for row in rows)

    def _drop(self, collection: str, number: int) -> int:
        query = "SELECT count(*) FROM records WHERE collection = ?"
        [(records,)] = self._database.execute(query, (number,))
        metadata_index.drop(self._database, number)
        keyword_index.drop(self._database, number)
        for statement in (
            "DELETE FROM records WHERE collection = ?",
            "DELETE FROM collections WHERE number = ?",
        ):
            self._database.execute(statement, (number,))
        if self._mirrored:
            outbox.add_drop(self._database, collection)
        self.retired.files.append(number)
        return int(records)

    def _add_to_outbox(self, collection: str, ids: Sequence[str]) -> None:
        if self._mirrored:
            outbox.add(self._database, collection, ids)


def _index(rows: Sequence[StoredRow]) -> list[tuple[int, Metadata]]:
    """The records as the metadata index has them."""
    return [(row.slot, row.record.metadata) for row in rows]


def _with_slots(rows: Sequence[StoredRow]) -> list[tuple[int, Record]]:
    """The records as the keyword index has them."""
    return [(row.slot, row.record) for row in rows]
