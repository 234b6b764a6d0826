"""Client of Chroma, for a folder or a server.

No Chroma type leaves this module. It runs only in Chroma's process (`process.py`), so servers never
import the library, and any failure ends that process.
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
"""Folder of an embedded Chroma, or the address of a server."""
Copy = tuple[Record, Vectors]
"""A record with its vector."""

MODEL_KEY = "embedder"
"""Metadata key of a collection with the fingerprint of its embedding model."""
PAGE = 5_000
"""Number of ids per request: Chroma's database can't bind many more."""
DATABASE = "chroma.sqlite3"
"""Database of an embedded Chroma, which exists after its first use."""
WRITER = "writer.lock"
LOCK_TIMEOUT_S = 30.0
"""Timeout for the process of an earlier server to exit."""
FULL_DISK_BYTES = 2**26
"""With this many free bytes or fewer, a failed write of a graph may be due to a full disk."""


class ChromaClient:
    """Collections of one Chroma. Methods block, and raise Chroma's exceptions."""

    def __init__(self, location: Location) -> None:
        if isinstance(location, Path):
            self._writer_lock = _lock_folder(location)
        self._client = _connect(location)

    def close(self) -> None:
        """Close the files; the exit of the process releases everything else."""
        self._client.close()  # type: ignore[attr-defined]

    def collections(self) -> dict[str, str]:
        """List all collections: the fingerprint of the model, or an empty string, by name."""
        found = self._client.list_collections()
        return {one.name: str((one.metadata or {}).get(MODEL_KEY) or "") for one in found}

    def count(self, collection: str) -> int:
        """Count the records of a collection; 0 if it does not exist."""
        return found.count() if (found := self._find(collection)) else 0

    def page(self, collection: str, start: int) -> dict[str, Copy | None]:
        """Read up to `PAGE` records from an offset on; an unreadable one is `None`."""
        found = self._find(collection)
        ids = found.get(limit=PAGE, offset=start, include=[])["ids"] if found else []
        return {**dict.fromkeys(ids), **self.fetch(collection, ids)}

    def apply(
        self,
        collection: str,
        model: str,
        deleted: Sequence[str],
        records: Sequence[Record],
        vectors: Vectors,
    ) -> None:
        """Delete records and upsert others with their vectors; create the collection if needed."""
        target = self._client.get_or_create_collection(collection, embedding_function=None)
        if model and (target.metadata or {}).get(MODEL_KEY) != model:
            target.modify(metadata={**(target.metadata or {}), MODEL_KEY: model})
        if deleted:
            target.delete(ids=list(deleted))
        if not records:
            return
        ids = [record.id for record in records]
        old = target.get(ids=ids, include=["metadatas"])
        # Chroma merges metadata, and removes a key that is set to None.
        gone = {
            id_: dict.fromkeys(metadata or ())
            for id_, metadata in zip(old["ids"], old["metadatas"] or (), strict=True)
        }
        metadata: list[Any] = [
            {**gone.get(record.id, {}), **record.metadata} or None  # Chroma rejects {}
            for record in records
        ]
        texts = [record.text for record in records]
        target.upsert(ids=ids, documents=texts, metadatas=metadata, embeddings=vectors)

    def drop(self, collection: str) -> None:
        """Delete a collection, if it exists."""
        if self._find(collection):
            self._client.delete_collection(collection)

    def fetch(self, collection: str, ids: Sequence[str]) -> dict[str, Copy]:
        """Fetch these records with their vectors, except missing or unreadable ones.

        One lost vector makes the entire request fail, so the ids are bisected to isolate it.
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
        """Find a collection without creating it."""
        if name in self.collections():
            return self._client.get_collection(name, embedding_function=None)
        return None


def pages(chroma: ChromaClient, collection: str) -> Iterator[dict[str, Copy | None]]:
    """Iterate over all records in pages."""
    start = 0
    while page := chroma.page(collection, start):
        yield page
        start += len(page)


def is_damaged(folder: Path, failure: str, deaths: int) -> bool:
    """Whether damaged files made Chroma fail, as opposed to locked or read-only files or a full
    disk. `deaths` is the number of consecutive crashes of its process."""
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
    is_graph = deaths > 1 or "hnsw" in failure.casefold()  # one crash may be a coincidence
    return line != "ok" or (is_graph and shutil.disk_usage(folder).free > FULL_DISK_BYTES)


def _lock(path: Path, timeout_s: float) -> sqlite3.Connection:
    """Open a connection that blocks other writers of a database until it is closed."""
    database = sqlite3.connect(path, timeout=timeout_s)
    try:
        database.execute("BEGIN IMMEDIATE")
    except BaseException:
        database.close()
        raise
    return database


def _lock_folder(folder: Path) -> sqlite3.Connection:
    """Lock a folder against other quinion processes: two writers lose vectors without an error.

    Also wait for other programs that lock the database; Chroma itself would wait indefinitely.
    """
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
