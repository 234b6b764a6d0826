"""Chroma's own client, for a folder or a server.

No Chroma type leaves this module. It runs in Chroma's process only (`process.py`), so the library
is never imported by a server, and any failure ends that process.
"""

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from quinion.model.record import Record
from quinion.store.base import Vectors

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

Location = Path | str
"""A folder, or the address of a server."""
Copies = dict[str, tuple[Record, Vectors]]
"""Records with their vectors, by id."""

MODEL_KEY = "embedder"
"""The key of a collection's metadata that has the fingerprint of its embedding model."""
PAGE = 5_000
"""Ids that are listed at once: Chroma's database can't bind many more."""
DATABASE = "chroma.sqlite3"
"""The database in the folder of an embedded Chroma, once it has been used."""
WRITER = "writer.lock"
LOCK_TIMEOUT_S = 30.0
"""How long the process of an earlier server may take to end."""
FULL_DISK_BYTES = 2**26
"""With so many free bytes or fewer, the disk may be why a graph could not be written."""


class ChromaClient:
    """The collections of one Chroma. Calls block, and raise whatever Chroma raises."""

    def __init__(self, location: Location) -> None:
        if isinstance(location, Path):
            self._writer_lock = _lock_folder(location)
        self._client = _connect(location)

    def close(self) -> None:
        """Close the files; the end of the process does the rest."""
        self._client.close()  # type: ignore[attr-defined]

    def collections(self) -> dict[str, str]:
        """The names of all collections, each with the fingerprint of its model, if any."""
        found = self._client.list_collections()
        return {one.name: str((one.metadata or {}).get(MODEL_KEY) or "") for one in found}

    def count(self, collection: str) -> int:
        """The number of records of a collection; 0 if there is none of that name."""
        return found.count() if (found := self._find(collection)) else 0

    def page_of_ids(self, collection: str, start: int) -> list[str]:
        """Some thousand of the ids, from that one on."""
        found = self._find(collection)
        return list(found.get(limit=PAGE, offset=start, include=[])["ids"]) if found else []

    def apply(
        self,
        collection: str,
        model: str,
        deleted: Sequence[str],
        records: Sequence[Record],
        vectors: Vectors,
    ) -> None:
        """Delete records, and write others with their vectors; a missing collection is created."""
        target = self._client.get_or_create_collection(collection, embedding_function=None)
        if model and (target.metadata or {}).get(MODEL_KEY) != model:
            target.modify(metadata={**(target.metadata or {}), MODEL_KEY: model})
        if deleted:
            target.delete(ids=list(deleted))
        if not records:
            return
        ids = [record.id for record in records]
        old = target.get(ids=ids, include=["metadatas"])
        # Chroma merges metadata, and forgets a key that is set to None.
        gone = {
            id_: dict.fromkeys(metadata or ())
            for id_, metadata in zip(old["ids"], old["metadatas"] or (), strict=True)
        }
        metadata: list[Any] = [
            {**gone.get(record.id, {}), **record.metadata} or None  # {} is refused
            for record in records
        ]
        texts = [record.text for record in records]
        target.upsert(ids=ids, documents=texts, metadatas=metadata, embeddings=vectors)

    def drop(self, collection: str) -> None:
        """Remove a collection; a missing one is fine."""
        if self._find(collection):
            self._client.delete_collection(collection)

    def fetch(self, collection: str, ids: Sequence[str]) -> Copies:
        """These records with their vectors, as far as they are there and can be read.

        Chroma fails as a whole when one vector is lost, so the ids are halved until it is found.
        """
        target = self._find(collection)
        if not target or not ids:
            return {}
        try:
            got: Any = target.get(ids=list(ids), include=["documents", "metadatas", "embeddings"])
        except Exception:
            if len(ids) == 1:
                return {}
            middle = len(ids) // 2
            return self.fetch(collection, ids[:middle]) | self.fetch(collection, ids[middle:])
        vectors = np.asarray(got["embeddings"], np.float32)
        rows = zip(got["ids"], got["documents"], got["metadatas"], vectors, strict=True)
        return {
            id_: (Record(id_, text or "", dict(metadata or {})), vector)
            for id_, text, metadata, vector in rows
        }

    def _find(self, name: str) -> "Collection | None":
        """The collection, which is not created by looking for it."""
        if name in self.collections():
            return self._client.get_collection(name, embedding_function=None)
        return None


def pages_of_ids(chroma: ChromaClient, collection: str) -> Iterator[list[str]]:
    """The ids of all records, some thousand at a time."""
    start = 0
    while page := chroma.page_of_ids(collection, start):
        yield page
        start += len(page)


def is_damaged(folder: Path, failure: str, deaths: int) -> bool:
    """Whether Chroma failed because of its files, and not because they can't be used now: they
    are locked or read-only, or the disk is full. `deaths` of its process are in a row."""
    path = folder / DATABASE
    if not path.exists():
        return folder.exists() and not folder.is_dir()
    try:
        with closing(_lock(path, 1.0)) as database:
            line = str(database.execute("PRAGMA integrity_check(1)").fetchone()[0])
    except sqlite3.OperationalError:
        return False
    except sqlite3.DatabaseError:
        return True
    is_graph = deaths > 1 or "hnsw" in failure.casefold()  # one death may be an accident
    return line != "ok" or (is_graph and shutil.disk_usage(folder).free > FULL_DISK_BYTES)


def _lock(path: Path, timeout_s: float) -> sqlite3.Connection:
    """A connection that keeps other programs from writing to a database, until it is closed."""
    database = sqlite3.connect(path, timeout=timeout_s)
    try:
        database.execute("BEGIN IMMEDIATE")
    except BaseException:
        database.close()
        raise
    return database


def _lock_folder(folder: Path) -> sqlite3.Connection:
    """Keep other processes of ours out of a folder: two that write it lose vectors without an
    error. Where another program keeps it locked Chroma would wait without end."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    writer_lock = _lock(folder / WRITER, LOCK_TIMEOUT_S)
    if (folder / DATABASE).exists():
        _lock(folder / DATABASE, LOCK_TIMEOUT_S).close()
    return writer_lock


def _connect(location: Location) -> "ClientAPI":
    import chromadb  # noqa: PLC0415 - its import takes a second
    from chromadb.config import Settings  # noqa: PLC0415

    settings = Settings(anonymized_telemetry=False)
    if isinstance(location, Path):
        return chromadb.PersistentClient(path=location, settings=settings)
    address = urlsplit(location)
    secure = address.scheme == "https"
    host, port = address.hostname or "localhost", address.port or (443 if secure else 8000)
    return chromadb.HttpClient(host, port, secure, settings=settings)
