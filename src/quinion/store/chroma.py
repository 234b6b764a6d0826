"""The vector store: Chroma, embedded, in memory, or a server of its own.

No Chroma type leaves this module. Calls block; the pipeline chooses their thread. The
library is imported at the first use, because its import costs as much as everything else
that a server needs to answer `/health`.

Records that are being written are hidden from queries until they are whole, so a search
never shows half a document.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from quinion.errors import BadSetting, QuinionError, StoreUnavailable
from quinion.model.record import Hit, Metadata, Record, score_of_distance
from quinion.store.filters import Where, all_of, any_of, is_native, matches
from quinion.store.journal import Trace

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection
    from numpy.typing import NDArray

SERVER_TIMEOUT_S = 30.0
FINGERPRINT_KEY = "embedder"
# How many times more ids than hits are asked for, how many records are looked at in one go,
# and where asking for more is no longer cheaper.
WIDER = 16
STEP = 2
WIDEST = 800
# What Chroma's database takes as a list of ids.
MOST_IDS = 1_000
PAGE = 10_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where the vectors are: a folder, the server at `url`, or (neither) memory."""

    folder: Path | None = None
    url: str | None = None

    def __str__(self) -> str:
        return self.url or (str(self.folder) if self.folder else "memory")


class VectorStore:
    """Collections of records, each with vectors of one embedding model.

    `fingerprint` names the model of all collections that `declare` does not name; it is asked for
    when it is needed, because the model may have to be tried out first.
    """

    def __init__(self, place: Place, fingerprint: Callable[[], str]) -> None:
        self.place = place
        self._fingerprint = fingerprint
        self._declared: dict[str, str | None] = {}
        self._lock = threading.Lock()
        self._client: ClientAPI | None = None
        self._collections: dict[str, Collection] = {}
        self._hidden: list[Trace] = []

    def open(self) -> None:
        """Connect, if that has not been done.

        Raises:
            StoreUnavailable: the server does not answer, or the folder is damaged.
        """
        with self._lock, self._failures():
            if self._client is None:
                self._client = _connect(self.place)

    def declare(self, collection: str, fingerprint: str | None) -> None:
        """Say which model the vectors of this collection come from; None: not known yet.

        Until it is known, what needs no vectors can be done.
        """
        with self._lock:
            self._declared[collection] = fingerprint
            self._collections.pop(collection, None)

    def upsert(
        self, collection: str, records: Sequence[Record], vectors: "NDArray[np.float32]"
    ) -> None:
        """Write records with their vectors, replacing those of the same ids."""
        target = self._comparable(collection, to_write=True)
        with self._failures():
            step = self._open_client().get_max_batch_size()
            for start in range(0, len(records), step):
                part = records[start : start + step]
                target.upsert(
                    ids=[record.id for record in part],
                    documents=[record.text for record in part],
                    metadatas=[dict(record.metadata) for record in part],
                    embeddings=vectors[start : start + step],
                )

    def get(
        self, collection: str, *, ids: Sequence[str] | None = None, where: Where | None = None
    ) -> list[Record]:
        """The records with these ids, or all that match."""
        target = self._collection(collection)
        named = {
            "ids": list(ids) if ids is not None else None,
            "where": dict(where) if where else None,
        }
        with self._failures():
            pages = list(_pages(target, ["documents", "metadatas"], named))
        return [record for page in pages for record in _records(page)]

    def get_with_vectors(self, trace: Trace) -> "tuple[list[Record], NDArray[np.float32]]":
        """The records that the trace names, and the vector of each."""
        target = self._collection(trace.collection)
        with self._failures():
            pages = list(_pages(target, ["documents", "metadatas", "embeddings"], _named_by(trace)))
        records = [record for page in pages for record in _records(page)]
        vectors = [np.asarray(page["embeddings"], np.float32) for page in pages if page["ids"]]
        return records, np.concatenate(vectors) if vectors else np.empty((0, 0), np.float32)

    def find_lost(self, collection: str) -> tuple[int, list[str]]:
        """How many records there are, and the ids of those whose vector is not to be had.

        Chroma fails as a whole when one is lost, so the ids are halved until it is found.
        """
        target = self._collection(collection)
        with self._failures():
            ids = [id_ for page in _pages(target, [], {}) for id_ in page["ids"]]
        doubtful = [ids[start : start + MOST_IDS] for start in range(0, len(ids), MOST_IDS)]
        lost = []
        while doubtful:
            some = doubtful.pop()
            try:
                target.get(ids=some, include=["embeddings"])
            except Exception:
                if len(some) == 1:
                    lost += some
                else:
                    middle = len(some) // 2
                    doubtful += [some[:middle], some[middle:]]
        return len(ids), sorted(lost)

    def query(
        self,
        collection: str,
        vector: "NDArray[np.float32]",
        limit: int,
        where: Where | None = None,
        may_match: Callable[[str], bool] | None = None,
    ) -> list[Hit]:
        """The records nearest to the vector among those that match, best first.

        With a filter, Chroma takes a hundred times as long as without. So many ids are asked
        for without it, which costs little, and records are fetched and filtered here until
        there are enough. Only where too few of them match does Chroma filter.

        `may_match` tells from an id that a record cannot match, so that it is not fetched.
        """
        if self._hides_all(collection):
            return []
        condition = all_of(where, *self._hiding(collection))
        if condition is None:
            return self._nearest(collection, vector, limit)
        if limit * WIDER <= WIDEST:
            found = self._sift(collection, vector, limit, condition, may_match)
            if found is not None:
                return found
        return self._nearest(collection, vector, limit, condition)

    def _sift(
        self,
        collection: str,
        vector: "NDArray[np.float32]",
        limit: int,
        where: Where,
        may_match: Callable[[str], bool] | None,
    ) -> list[Hit] | None:
        """The matching ones among the nearest; None where those are too few to tell."""
        nearest = self._near_ids(collection, vector, limit * WIDER)
        near = [row for row in nearest if may_match is None or may_match(row[0])]
        hits: list[Hit] = []
        step = limit * STEP
        for start in range(0, len(near), step):
            part = near[start : start + step]
            records = {r.id: r for r in self.get(collection, ids=[id_ for id_, _ in part])}
            hits += [
                Hit(records[id_], score_of_distance(distance))
                for id_, distance in part
                if id_ in records and matches(records[id_].metadata, where)
            ]
            if len(hits) >= limit:
                return hits[:limit]
        return hits if len(nearest) < limit * WIDER else None

    def _near_ids(
        self, collection: str, vector: "NDArray[np.float32]", limit: int
    ) -> list[tuple[str, float]]:
        target = self._comparable(collection)
        with self._failures():
            found = target.query(
                query_embeddings=vector.ravel().tolist(), n_results=limit, include=["distances"]
            )
        rows = zip(found["ids"][0], (found["distances"] or [[]])[0], strict=True)
        return sorted(rows, key=lambda row: (row[1], row[0]))

    def _nearest(
        self,
        collection: str,
        vector: "NDArray[np.float32]",
        limit: int,
        where: Where | None = None,
    ) -> list[Hit]:
        target = self._comparable(collection)
        chosen = self._choose(collection, where) if where and not is_native(where) else None
        if chosen is not None and (not chosen or len(chosen) > MOST_IDS):
            return self._nearest_of(collection, vector, limit, frozenset(chosen))
        with self._failures():
            found = target.query(
                query_embeddings=vector.ravel().tolist(),
                n_results=limit,
                ids=chosen,
                where=dict(where) if where and chosen is None else None,
                include=["documents", "metadatas", "distances"],
            )
        rows = zip(
            found["ids"][0],
            (found["documents"] or [[]])[0],
            (found["metadatas"] or [[]])[0],
            (found["distances"] or [[]])[0],
            strict=True,
        )
        return [
            Hit(Record(id_, text or "", _plain(metadata)), score_of_distance(distance))
            # By distance and not by score, which is 0 for all that is far away.
            for id_, text, metadata, distance in sorted(rows, key=lambda row: (row[3], row[0]))
        ]

    def _nearest_of(
        self,
        collection: str,
        vector: "NDArray[np.float32]",
        limit: int,
        chosen: frozenset[str],
    ) -> list[Hit]:
        """The nearest among more records than can be named: more and more are looked at."""
        near: list[tuple[str, float]] = []
        count = self.count(collection) if chosen else 0
        asked = WIDEST
        while count and len(near) < limit:
            asked = min(asked * WIDER, count)
            near = [row for row in self._near_ids(collection, vector, asked) if row[0] in chosen]
            if asked == count:
                break
        distances = dict(near[:limit])
        records = {r.id: r for r in self.get(collection, ids=list(distances))} if near else {}
        return [
            Hit(records[id_], score_of_distance(distance))
            for id_, distance in distances.items()
            if id_ in records
        ]

    def _choose(self, collection: str, where: Where) -> list[str]:
        """The ids of all records that pass a filter which Chroma cannot apply."""
        target = self._collection(collection)
        with self._failures():
            return [
                id_
                for page in _pages(target, ["metadatas"], {})
                for id_, metadata in zip(page["ids"], page["metadatas"], strict=True)
                if matches(_plain(metadata), where)
            ]

    def delete(self, trace: Trace) -> None:
        """Remove the records that the trace names; none is fine."""
        if trace.is_whole:
            self._drop(trace.collection)
            return
        target = self._collection(trace.collection)
        with self._failures():
            target.delete(**_named_by(trace))

    def delete_ids(self, collection: str, ids: Sequence[str]) -> None:
        """Remove the records with these ids."""
        target = self._collection(collection)
        with self._failures():
            step = self._open_client().get_max_batch_size()
            for start in range(0, len(ids), step):
                target.delete(ids=list(ids[start : start + step]))

    def count(self, collection: str) -> int:
        """How many records the collection has."""
        target = self._collection(collection)
        with self._failures():
            return target.count()

    def count_traced(self, trace: Trace) -> int:
        """How many records the trace names."""
        target = self._collection(trace.collection)
        with self._failures():
            if trace.is_whole:
                return target.count()
            return sum(len(page["ids"]) for page in _pages(target, [], _named_by(trace)))

    def set_metadata(self, trace: Trace, values: Metadata) -> None:
        """Write these values into the metadata of all records that the trace names."""
        target = self._collection(trace.collection)
        with self._failures():
            ids = [id_ for page in _pages(target, [], _named_by(trace)) for id_ in page["ids"]]
            step = self._open_client().get_max_batch_size()
            for start in range(0, len(ids), step):
                part = ids[start : start + step]
                # What is not among the values stays as it is.
                target.update(ids=part, metadatas=[dict(values)] * len(part))

    def hide(self, traces: Sequence[Trace]) -> None:
        """Keep what these name out of query results until `reveal`."""
        with self._lock:
            self._hidden = [*self._hidden, *traces]

    def reveal(self, traces: Sequence[Trace]) -> None:
        """Undo `hide`; what is not hidden is left alone."""
        with self._lock:
            self._hidden = [trace for trace in self._hidden if trace not in traces]

    def _hides_all(self, collection: str) -> bool:
        with self._lock:
            return any(t.is_whole and t.collection == collection for t in self._hidden)

    def _hiding(self, collection: str) -> list[Where]:
        with self._lock:
            hidden = [trace for trace in self._hidden if trace.collection == collection]
        return [
            any_of(*({field: {"$ne": value}} for field, value in trace.fields))
            for trace in hidden
            if trace.fields
        ]

    def _open_client(self) -> "ClientAPI":
        self.open()
        assert self._client is not None
        return self._client

    def _collection(self, name: str) -> "Collection":
        client = self._open_client()
        with self._lock, self._failures():
            if name not in self._collections:
                self._collections[name] = client.get_or_create_collection(
                    name, embedding_function=None
                )
            return self._collections[name]

    def _comparable(self, name: str, *, to_write: bool = False) -> "Collection":
        """The collection, where its vectors are of the model that is configured.

        An empty one is given the mark of that model when something is about to be written. One
        that has records and no mark was made by another program with the model that the specs
        prescribe, and is taken as it is. What needs no vectors can be done with any.
        """
        found = self._collection(name)
        made_with = (found.metadata or {}).get(FINGERPRINT_KEY)
        if not made_with and not to_write:
            return found
        wanted = self._declared[name] if name in self._declared else self._fingerprint()
        if not made_with and wanted:
            with self._failures():
                if not found.count():
                    found.modify(metadata={FINGERPRINT_KEY: wanted})
        elif wanted and made_with != wanted:
            raise BadSetting(
                f"The collection {name} in {self.place} was made with the embedding model "
                f"{made_with}, and the one configured now is {wanted}. "
                "Configure the former, or use another collection or another QUINION_HOME."
            )
        return found

    def _drop(self, name: str) -> None:
        """Delete the collection as a whole; whatever model it was made with, it may be dropped."""
        client = self._open_client()
        with self._lock, self._failures():
            self._collections.pop(name, None)
            if name in {collection.name for collection in client.list_collections()}:
                client.delete_collection(name)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Whatever Chroma raises, in one error of ours. The catch is broad because its
        embedded core, its HTTP client and SQLite beneath each raise their own."""
        try:
            yield
        except QuinionError:
            raise
        except Exception as error:
            raise StoreUnavailable(
                f"The vector store at {self.place} failed: {error}. "
                "Check that it is reachable, that its disk is not full, and try again."
            ) from error


def _connect(place: Place) -> "ClientAPI":
    import chromadb  # noqa: PLC0415 - the module's docstring says why
    from chromadb.config import Settings  # noqa: PLC0415

    settings = Settings(anonymized_telemetry=False)
    if place.url:
        address = urlsplit(place.url)
        secure = address.scheme == "https"
        client = chromadb.HttpClient(
            host=address.hostname or "localhost",
            port=address.port or (443 if secure else 8000),
            ssl=secure,
            settings=settings,
        )
        # Chroma's client waits for ever by default and has no setting for it.
        client._server._session.timeout = SERVER_TIMEOUT_S  # type: ignore[attr-defined]
        return client
    if place.folder:
        return chromadb.PersistentClient(path=place.folder, settings=settings)
    return chromadb.EphemeralClient(settings=settings)


def _pages(
    target: "Collection", include: list[Any], named: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """What `get` gives, page by page: all at once is more than Chroma's database can bind."""
    start = 0
    while True:
        found: Any = target.get(**named, limit=PAGE, offset=start, include=include)
        yield found
        if len(found["ids"]) < PAGE:
            return
        start += PAGE


def _named_by(trace: Trace) -> dict[str, Any]:
    """What the trace names, as arguments of Chroma's `get` and `delete`."""
    if trace.ids:
        return {"ids": list(trace.ids)}
    return {"where": all_of(*({field: value} for field, value in trace.fields))}


def _records(found: Mapping[str, Any]) -> list[Record]:
    return [
        Record(id_, text or "", _plain(metadata))
        for id_, text, metadata in zip(
            found["ids"], found["documents"], found["metadatas"], strict=True
        )
    ]


def _plain(metadata: Mapping[str, Any] | None) -> Metadata:
    return dict(metadata or {})
