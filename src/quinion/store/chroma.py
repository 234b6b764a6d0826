"""Chroma, embedded, in memory, or a server of its own.

No Chroma type leaves this module. The library is imported at the first use, because its import
costs as much as everything else that a server needs to answer `/health`.
"""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import numpy as np

from quinion.cycles import leave_alone
from quinion.errors import QuinionError, StoreUnavailable
from quinion.model.record import Record

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection
    from chromadb.config import Settings
    from numpy.typing import NDArray

SERVER_TIMEOUT_S = 20.0
FINGERPRINT_KEY = "embedder"
MOST_IDS = 1_000
"""What Chroma's database takes well as a list of ids."""
PAGE = 10_000
DATABASE = "chroma.sqlite3"
"""In the folder of one that is embedded, once it has been used."""
DAMAGE = (
    "malformed",
    "not a database",
    "no such table",
    "no such column",
    "hnsw",
    "getting embedding",
    "migration",
    "pickle",
    "file is encrypted",
)
"""Words of what Chroma says when its files are not as it left them."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the vectors are: a folder, the server at `url`, or (neither) memory."""

    folder: Path | None = None
    url: str | None = None

    def __str__(self) -> str:
        return self.url or (str(self.folder) if self.folder else "memory")


class Chroma:
    """Collections in one place. Calls block."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._lock = threading.RLock()
        self._client: ClientAPI | None = None
        self._collections: dict[str, Collection] = {}

    @property
    def is_open(self) -> bool:
        """Whether it has been connected to."""
        return self._client is not None

    def open(self) -> None:
        """Connect, if that has not been done.

        Raises:
            StoreUnavailable: the server does not answer, or the folder is damaged.
        """
        with self._lock, self._failures():
            if self._client is None:
                self._client = _connect(self.place)
                leave_alone("chroma")

    def close(self) -> None:
        """Let go of the server's connections, or of the files."""
        with self._lock:
            client, self._client = self._client, None
            self._collections.clear()
        if client is None:
            return
        if self.place.url:
            _hang_up(client)
        elif self.place.folder:
            client.close()  # type: ignore[attr-defined]

    def marked(self) -> list[str]:
        """The names of all collections that say which model their vectors come from, as ours do."""
        client = self._open_client()
        with self._failures():
            return [
                one.name
                for one in client.list_collections()
                if (one.metadata or {}).get(FINGERPRINT_KEY)
            ]

    def unmarked(self) -> list[str]:
        """The names of all others: what other programs keep here."""
        client = self._open_client()
        with self._failures():
            names = {one.name for one in client.list_collections()}
        return sorted(names - set(self.marked()))

    def fingerprint(self, collection: str) -> str:
        """The mark of the model that the collection's vectors come from; empty: it has none."""
        metadata = self._collection(collection).metadata or {}
        return str(metadata.get(FINGERPRINT_KEY) or "")

    def mark(self, collection: str, fingerprint: str) -> None:
        """Set that mark."""
        with self._failures():
            self._collection(collection).modify(metadata={FINGERPRINT_KEY: fingerprint})

    def upsert(
        self, collection: str, records: Sequence[Record], vectors: "NDArray[np.float32]"
    ) -> None:
        """Write records with their vectors, replacing those of the same ids."""
        target = self._collection(collection)
        with self._failures():
            for some in self._batches(records):
                part = records[some]
                target.upsert(
                    ids=[record.id for record in part],
                    documents=[record.text for record in part],
                    metadatas=[dict(record.metadata) for record in part],
                    embeddings=vectors[some],
                )

    def ids(self, collection: str) -> list[str]:
        """The ids of all records."""
        return [id_ for some in self.pages_of_ids(collection) for id_ in some]

    def pages_of_ids(self, collection: str) -> Iterator[list[str]]:
        """The ids of all records, some thousand at a time: all at once is more than Chroma's
        database can bind."""
        start = 0
        while page := self.page_of_ids(collection, start):
            yield page
            start += len(page)

    def page_of_ids(self, collection: str, start: int) -> list[str]:
        """Some thousand of the ids, from that one on."""
        target = self._collection(collection)
        with self._failures():
            return list(target.get(limit=PAGE, offset=start, include=[])["ids"])

    def get(
        self, collection: str, ids: Sequence[str]
    ) -> "tuple[list[Record], NDArray[np.float32]]":
        """The records with these ids, and the vector of each."""
        target = self._collection(collection)
        records: list[Record] = []
        vectors = []
        with self._failures():
            for start in range(0, len(ids), MOST_IDS):
                found: Any = target.get(
                    ids=list(ids[start : start + MOST_IDS]),
                    include=["documents", "metadatas", "embeddings"],
                )
                records += [
                    Record(id_, text or "", dict(metadata or {}))
                    for id_, text, metadata in zip(
                        found["ids"], found["documents"], found["metadatas"], strict=True
                    )
                ]
                vectors.append(np.asarray(found["embeddings"], np.float32))
        return records, np.concatenate(vectors) if vectors else np.empty((0, 0), np.float32)

    def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove the records with these ids; none is fine."""
        target = self._collection(collection)
        with self._failures():
            for some in self._batches(ids):
                target.delete(ids=list(ids[some]))

    def set_metadata(self, collection: str, records: Sequence[Record]) -> None:
        """Write the metadata of these records and nothing else; what is not in it stays."""
        target = self._collection(collection)
        with self._failures():
            for some in self._batches(records):
                part = records[some]
                target.update(
                    ids=[record.id for record in part],
                    metadatas=[dict(record.metadata) for record in part],
                )

    def drop(self, collection: str) -> None:
        """Remove the collection as a whole."""
        client = self._open_client()
        with self._lock, self._failures():
            self._collections.pop(collection, None)
            if collection in {one.name for one in client.list_collections()}:
                client.delete_collection(collection)

    def count(self, collection: str) -> int:
        """How many records the collection has."""
        target = self._collection(collection)
        with self._failures():
            return target.count()

    def get_sound(
        self, collection: str, ids: Sequence[str]
    ) -> "tuple[dict[str, tuple[Record, NDArray[np.float32]]], list[str]]":
        """By id, each of these records with its vector, and the ids of those that can't be read.

        Chroma fails as a whole when one vector is lost, so the ids are halved until it is found.
        """
        doubtful = [list(ids)]
        sound: dict[str, tuple[Record, NDArray[np.float32]]] = {}
        lost: list[str] = []
        while doubtful:
            some = doubtful.pop()
            try:
                records, vectors = self.get(collection, some)
            except StoreUnavailable:
                if len(some) == 1:
                    lost += some
                else:
                    middle = len(some) // 2
                    doubtful += [some[:middle], some[middle:]]
            else:
                for record, vector in zip(records, vectors, strict=True):
                    sound[record.id] = record, vector
        return sound, sorted(lost)

    def _batches(self, items: Sequence[object]) -> Iterator[slice]:
        step = self._open_client().get_max_batch_size()
        return (slice(start, start + step) for start in range(0, len(items), step))

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

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Whatever Chroma raises, in one error of ours. The catch is broad because its
        embedded core, its HTTP client and SQLite beneath each raise their own."""
        try:
            yield
        except QuinionError:
            raise
        except Exception as error:
            embedded = self.place.folder and not self.place.url
            if embedded:
                # After a failure of the disk it would go on with a connection that is of no use.
                with suppress(Exception):
                    self.close()
            if embedded and (_is_damage(error) or find_damage(self.place)):
                raise StoreUnavailable(
                    f"The vector store at {self.place} is damaged: {error}. "
                    "Stop the server and run quinion rebuild, which makes it anew from the ledger."
                ) from error
            raise StoreUnavailable(
                f"The vector store at {self.place} failed: {error}. "
                "Check that it is reachable, that its disk is not full, and try again."
            ) from error


def find_damage(place: Place) -> str:
    """What SQLite's own check finds amiss in the database of one that is embedded; empty: nothing,
    or it can't be looked at now."""
    if place.url or not place.folder or not (place.folder / DATABASE).exists():
        return ""
    where = f"file:{quote(str(place.folder / DATABASE))}?mode=ro"
    try:
        with closing(sqlite3.connect(where, uri=True)) as database:
            said = str(database.execute("PRAGMA integrity_check(1)").fetchone()[0])
    except sqlite3.OperationalError:  # it is locked, or the disk fails
        return ""
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if said == "ok" else said


def _connect(place: Place) -> "ClientAPI":
    import chromadb  # noqa: PLC0415 - the module's docstring says why
    from chromadb.api.shared_system_client import SharedSystemClient  # noqa: PLC0415
    from chromadb.config import Settings  # noqa: PLC0415

    settings = Settings(anonymized_telemetry=False)
    if place.url:
        return _reach(place.url, settings)
    if place.folder:
        try:
            return chromadb.PersistentClient(path=place.folder, settings=settings)
        except Exception:
            # Chroma remembers one that it could not start, and would give it to the next caller.
            SharedSystemClient._identifier_to_system.pop(str(place.folder), None)
            raise
    return chromadb.EphemeralClient(settings=settings)


def _reach(url: str, settings: "Settings") -> "ClientAPI":
    """A client of the server there.

    Chroma's waits for ever by default, has no setting for it, and asks the server some things
    while it is made. So a server that does not answer is found before, and for one that falls
    silent just then a thread is left behind, which hangs up if it is answered after all.
    """
    import chromadb  # noqa: PLC0415
    import httpx2  # noqa: PLC0415

    address = urlsplit(url)
    secure = address.scheme == "https"
    host, port = address.hostname or "localhost", address.port or (443 if secure else 8000)
    name = f"[{host}]" if ":" in host else host
    beat = f"{address.scheme}://{name}:{port}/api/v2/heartbeat"
    httpx2.get(beat, timeout=SERVER_TIMEOUT_S).raise_for_status()
    reached: Future[ClientAPI] = Future()

    def hang_up_late(late: "Future[ClientAPI]") -> None:
        if not late.exception():
            _hang_up(late.result())

    def reach() -> None:
        try:
            reached.set_result(chromadb.HttpClient(host, port, secure, settings=settings))
        except Exception as error:
            reached.set_exception(error)

    threading.Thread(target=reach, name="chroma", daemon=True).start()
    try:
        client = reached.result(SERVER_TIMEOUT_S)
    except TimeoutError as error:
        reached.add_done_callback(hang_up_late)
        raise TimeoutError("timed out") from error
    client._server._session.timeout = SERVER_TIMEOUT_S  # type: ignore[attr-defined]
    return client


def _hang_up(client: "ClientAPI") -> None:
    # It has one session for itself and one for its administrator, and closes neither.
    sides: tuple[Any, ...] = client, client._admin_client  # type: ignore[attr-defined]
    for side in sides:
        side._server._session.close()
    client.close()  # type: ignore[attr-defined]


def _is_damage(error: Exception) -> bool:
    """Whether it is the files, as far as Chroma's wording tells."""
    said = str(error).casefold()
    return any(word in said for word in DAMAGE)
