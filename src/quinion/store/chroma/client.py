"""Chroma's own client, for a folder or a server.

No Chroma type leaves this module. It runs in Chroma's process only (`process.py`), so the library
is never imported by a server, and any failure ends that process.
"""

import fcntl
import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

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

SERVER_TIMEOUT_S = 20.0
MODEL_KEY = "embedder"
"""The key of a collection's metadata that has the fingerprint of its embedding model."""
PAGE = 10_000
DATABASE = "chroma.sqlite3"
"""The database in the folder of an embedded Chroma, once it has been used."""
WRITER = "writer.lock"
LOCKED_S = 30.0
"""How long the process of an earlier server may take to end."""
DAMAGE = (
    *("malformed", "not a database", "no such table", "no such column", "hnsw"),
    *("getting embedding", "migration", "pickle", "file is encrypted"),
)
"""Words of what Chroma reports when its files are not as it left them."""


class ChromaClient:
    """The collections of one Chroma. Calls block, and raise whatever Chroma raises."""

    def __init__(self, location: Location) -> None:
        if isinstance(location, Path):
            # Two processes that write one folder lose vectors without an error.
            self._turn = _take_turn(location)
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
        updated: Sequence[Record],
        written: Sequence[Record],
        vectors: Vectors,
    ) -> bool:
        """Delete records, set the metadata of others, and write the rest with their vectors;
        return whether the collection had to be created."""
        found = self._find(collection)
        target = found or self._client.create_collection(collection, embedding_function=None)
        if model and (target.metadata or {}).get(MODEL_KEY) != model:
            target.modify(metadata={**(target.metadata or {}), MODEL_KEY: model})
        if deleted:
            target.delete(ids=list(deleted))
        if updated:
            changed: list[Any] = [dict(one.metadata) for one in updated]
            target.update(ids=[one.id for one in updated], metadatas=changed)
        if written:
            metadata: list[Any] = [dict(one.metadata) or None for one in written]  # {} is refused
            target.upsert(
                ids=[one.id for one in written],
                documents=[one.text for one in written],
                metadatas=metadata,
                embeddings=vectors,
            )
        return found is None

    def drop(self, collection: str) -> None:
        """Remove a collection; a missing one is fine."""
        if collection in self.collections():
            self._client.delete_collection(collection)

    def fetch(self, collection: str, ids: Sequence[str]) -> tuple[Copies, list[str]]:
        """These records with their vectors, and the ids of those that can't be read.

        Chroma fails as a whole when one vector is lost, so the ids are halved until it is found.
        """
        target = self._find(collection)
        pending = [list(ids)] if target and ids else []
        found: Copies = {}
        unreadable: list[str] = []
        while target and pending:
            some = pending.pop()
            try:
                got: Any = target.get(ids=some, include=["documents", "metadatas", "embeddings"])
            except Exception:
                if len(some) == 1:
                    unreadable += some
                else:
                    middle = len(some) // 2
                    pending += [some[:middle], some[middle:]]
                continue
            vectors = np.asarray(got["embeddings"], np.float32)
            rows = zip(got["ids"], got["documents"], got["metadatas"], vectors, strict=True)
            for id_, text, metadata, vector in rows:
                found[id_] = Record(id_, text or "", dict(metadata or {})), vector
        return found, sorted(unreadable)

    def _find(self, name: str) -> "Collection | None":
        """The collection, which is not created by looking for it."""
        if name in self.collections():
            return self._client.get_collection(name, embedding_function=None)
        return None


def find_damage(location: Location) -> str:
    """What SQLite's own check reports of the database of an embedded Chroma; empty: nothing, or
    it can't be checked now."""
    if isinstance(location, str) or not (location / DATABASE).exists():
        return ""
    address = f"file:{quote(str(location / DATABASE))}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as database:
            line = str(database.execute("PRAGMA integrity_check(1)").fetchone()[0])
    except sqlite3.OperationalError:  # it is locked, or the disk fails
        return ""
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if line == "ok" else line


def is_locked(location: Location) -> bool:
    """Whether another program keeps the database of an embedded Chroma locked, for which Chroma
    waits without end."""
    if isinstance(location, str) or not (location / DATABASE).exists():
        return False
    address = f"file:{quote(str(location / DATABASE))}?mode=rw"
    try:
        with closing(sqlite3.connect(address, timeout=1.0, uri=True)) as database:
            database.execute("BEGIN IMMEDIATE")
    except sqlite3.DatabaseError as error:
        return error.sqlite_errorcode == sqlite3.SQLITE_BUSY
    return False


def is_damage(error: Exception, location: Location) -> bool:
    """Whether it is the files, as far as Chroma's wording or its database tells."""
    words = str(error).casefold()
    return isinstance(location, Path) and (
        any(word in words for word in DAMAGE)
        or bool(find_damage(location))
        or (location.exists() and not location.is_dir())
    )


def _connect(location: Location) -> "ClientAPI":
    import chromadb  # noqa: PLC0415 - its import takes a second
    import httpx2  # noqa: PLC0415
    from chromadb.config import Settings  # noqa: PLC0415

    settings = Settings(anonymized_telemetry=False)
    if isinstance(location, Path):
        return chromadb.PersistentClient(path=location, settings=settings)
    address = urlsplit(location)
    secure = address.scheme == "https"
    host, port = address.hostname or "localhost", address.port or (443 if secure else 8000)
    # The client waits for ever by default, has no setting for it, and asks the server some things
    # while it is constructed: so one that does not answer is found out before.
    name = f"[{host}]" if ":" in host else host
    heartbeat = f"{address.scheme}://{name}:{port}/api/v2/heartbeat"
    httpx2.get(heartbeat, timeout=SERVER_TIMEOUT_S).raise_for_status()
    client = chromadb.HttpClient(host, port, secure, settings=settings)
    client._server._session.timeout = SERVER_TIMEOUT_S  # type: ignore[attr-defined]
    return client


def _take_turn(folder: Path) -> int:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    turn = os.open(folder / WRITER, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    give_up_at = time.monotonic() + LOCKED_S
    while True:
        try:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > give_up_at:
                raise TimeoutError("it is locked by another process") from error
            time.sleep(0.05)
        else:
            return turn
