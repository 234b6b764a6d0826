"""The vector store: collections of records, each with a vector, searched by nearness and filters.

Two things hold the same records: the ledger, which is written first and answers, and Chroma, which
the contracts prescribe, other programs read, and which follows it (`agreement.py`).

Records that are being written are hidden from queries until they are whole, so a search never
shows half a document. Calls block; the pipeline chooses their thread.
"""

from collections.abc import Callable, Iterable, Sequence

from quinion.errors import BadSetting
from quinion.model.record import Hit, Metadata, Record, score_of_distance
from quinion.store.agreement import Agreement
from quinion.store.chroma import Chroma, Place
from quinion.store.filters import Where, all_of, matches
from quinion.store.hidden import Hidden
from quinion.store.journal import Trace
from quinion.store.ledger import Ledger
from quinion.store.proving import Prover
from quinion.store.rows import Vectors

WIDER = 8
"""How many more are looked at, each time that too few of the nearest match."""


class VectorStore:
    """Collections of records, each with vectors of one embedding model.

    `fingerprint` names the model of all collections that `declare` does not name; it is asked for
    when it is needed, because the model may have to be tried out first.
    """

    def __init__(self, chroma: Chroma, ledger: Ledger, fingerprint: Callable[[], str]) -> None:
        self._chroma = chroma
        self._ledger = ledger
        self._agreement = Agreement(ledger, chroma)
        self._fingerprint = fingerprint
        self._declared: dict[str, str | None] = {}
        self.hidden = Hidden()
        self.prover = Prover(ledger, chroma, self._agreement, self.hidden)

    @property
    def place(self) -> Place:
        """Where Chroma is."""
        return self._chroma.place

    @property
    def ledger(self) -> Ledger:
        """What answers."""
        return self._ledger

    def close(self) -> None:
        """Let go of files and connections."""
        self._agreement.close()
        self._ledger.close()

    def declare(self, collection: str, fingerprint: str | None) -> None:
        """Say which model the vectors of this collection come from; None: not known yet.

        Until it is known, what needs no vectors can be done.
        """
        self._declared[collection] = fingerprint

    def upsert(self, collection: str, records: Sequence[Record], vectors: Vectors) -> None:
        """Write records with their vectors, replacing those of the same ids."""
        if not records:
            return
        self._agreement.prepare_to_write(collection)
        self._check_model(collection, to_write=True)
        self._ledger.upsert(collection, records, vectors)
        self._agreement.share_mark(collection)
        self._agreement.follower.follow(collection)

    def get(
        self, collection: str, *, ids: Sequence[str] | None = None, where: Where | None = None
    ) -> list[Record]:
        """The records with these ids, or all that match."""
        self._agreement.prepare_to_read(collection)
        return self._ledger.get(collection, ids=ids, where=where)

    def get_with_vectors(self, trace: Trace) -> tuple[list[Record], Vectors]:
        """The records that the trace names, and the vector of each."""
        records = self._traced(trace)
        return records, self._ledger.vectors(trace.collection, records)

    def query(
        self, collection: str, vector: Vectors, limit: int, where: Where | None = None
    ) -> list[Hit]:
        """The records nearest to the vector among those that match, best first."""
        self._agreement.prepare_to_read(collection)
        self._check_model(collection)
        if self.hidden.has_whole(collection):
            return []
        condition = all_of(where, *self.hidden.conditions(collection))
        mask = self._ledger.candidates(collection, condition) if condition else None
        most = limit
        while True:
            places, distances = self._ledger.nearest(collection, vector, most, mask)
            records = self._ledger.at(collection, places.tolist())
            hits = [
                Hit(records[place], score_of_distance(distance))
                for place, distance in zip(places.tolist(), distances.tolist(), strict=True)
                if place in records
                and (condition is None or matches(records[place].metadata, condition))
            ]
            if len(hits) >= limit or len(places) < most:
                return hits[:limit]
            most *= WIDER

    def delete(self, trace: Trace) -> None:
        """Remove the records that the trace names; none is fine."""
        if trace.is_whole:
            # Whatever model it was made with, it may be dropped.
            self._agreement.follower.drop(trace.collection)
            return
        self.delete_ids(trace.collection, [record.id for record in self._traced(trace)])

    def delete_ids(self, collection: str, ids: Sequence[str]) -> None:
        """Remove the records with these ids."""
        if ids:
            self._agreement.prepare_to_write(collection)
            self._ledger.delete(collection, ids)
            self._agreement.follower.follow(collection)

    def count(self, collection: str) -> int:
        """How many records the collection has."""
        self._agreement.prepare_to_read(collection)
        return self._ledger.count(collection)

    def count_traced(self, trace: Trace) -> int:
        """How many records the trace names."""
        return self.count(trace.collection) if trace.is_whole else len(self._traced(trace))

    def set_metadata(self, trace: Trace, values: Metadata) -> None:
        """Write these values into the metadata of all records that the trace names."""
        self._agreement.prepare_to_write(trace.collection)
        ids = [record.id for record in self._traced(trace)]
        if ids:
            self._ledger.set_metadata(trace.collection, ids, values)
            self._agreement.follower.follow(trace.collection)

    def agree(self, collections: Iterable[str]) -> None:
        """Before these are written: see to it that Chroma and the ledger have as many records.

        Raises:
            StoreUnavailable: Chroma does not answer, or its folder is damaged.
        """
        for collection in collections:
            self._agreement.prepare_to_write(collection)

    def reconcile(self, collection: str) -> None:
        """Give Chroma what only the ledger has, and the other way round."""
        self._agreement.reconcile(collection)

    def catch_up(self, collection: str) -> None:
        """Wait until Chroma has all that was written to this collection.

        Raises:
            StoreUnavailable: Chroma does not answer, or its folder is damaged.
        """
        self._agreement.follower.catch_up(collection)

    def collections(self) -> list[str]:
        """The names of all collections that the ledger knows."""
        return self._ledger.collections()

    def _traced(self, trace: Trace) -> list[Record]:
        if trace.ids:
            return self.get(trace.collection, ids=trace.ids)
        return self.get(
            trace.collection, where=all_of(*({field: value} for field, value in trace.fields))
        )

    def _check_model(self, collection: str, *, to_write: bool = False) -> None:
        """Make sure that the collection's vectors are of the model that is configured.

        An empty one is given the mark of that model when something is about to be written. One
        that has records and no mark was made by another program with the model that the specs
        prescribe, and is taken as it is. What needs no vectors can be done with any.
        """
        made_with = self._ledger.fingerprint(collection)
        if not made_with and not to_write:
            return
        declared = collection in self._declared
        wanted = self._declared[collection] if declared else self._fingerprint()
        if not made_with and wanted and not self._ledger.count(collection):
            self._chroma.mark(collection, wanted)
        elif made_with and wanted and made_with != wanted:
            raise BadSetting(
                f"The collection {collection} in {self.place} was made with the embedding model "
                f"{made_with}, and the one configured now is {wanted}. "
                "Configure the former, or use another collection or another QUINION_HOME."
            )
