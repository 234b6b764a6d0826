"""Stores with a Chroma mirror, and independent readers of that Chroma."""

import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import chromadb
import numpy as np
import psutil
import pytest
from chromadb.config import Settings

from quinion.model.record import Record
from quinion.store.base import Selector, Vectors, VectorStore
from quinion.store.chroma import process
from quinion.store.chroma.client import Location
from quinion.store.chroma.replicator import Replicator
from quinion.store.embedded.store import EmbeddedStore
from quinion.store.factory import StorePlace, open_store

NAME = "texts"
MODEL = "model"
DIMENSIONS = 8
AT_ONCE_S = 10.0
"""Less than any of Chroma's timeouts, and more than a write takes on a busy machine."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A collection in Chroma: its model mark, and its records with vectors by id."""

    model: str
    records: dict[str, tuple[Record, list[float]]]

    @property
    def metadata(self) -> dict[str, Any]:
        return {id_: record.metadata for id_, (record, _) in self.records.items()}


def mirror_of(home: Path) -> Path:
    return home / "chroma"


@contextmanager
def mirrored_store(
    home: Path, mirror: Location | None = None, *, mirrored: bool = True
) -> Iterator[EmbeddedStore]:
    """Open the store of a home, with its mirror in the home or at the location."""
    place = StorePlace(home, home / "store", mirror or mirror_of(home), mirrored=mirrored)
    store = open_store(place)
    assert isinstance(store, EmbeddedStore)
    try:
        yield store
    finally:
        store.close()


def make_records(*numbers: int, **metadata: Any) -> list[Record]:
    return [Record(f"id {n}", f"text {n}", {"n": n, **metadata}) for n in numbers]


def make_vectors(numbers: Sequence[int], dimensions: int = DIMENSIONS) -> Vectors:
    """Return deterministic vectors by number."""
    generator = np.random.default_rng(1)
    many = generator.normal(size=(max(numbers, default=0) + 1, dimensions)).astype(np.float32)
    many /= np.linalg.norm(many, axis=1, keepdims=True)
    return many[list(numbers)]


def write(store: EmbeddedStore, *numbers: int, name: str = NAME, **metadata: Any) -> None:
    """Write records with these numbers, in one transaction."""
    with store.transaction() as transaction:
        transaction.upsert(name, make_records(*numbers, **metadata), make_vectors(numbers), MODEL)


def delete(store: EmbeddedStore, *numbers: int, name: str = NAME) -> None:
    with store.transaction() as transaction:
        transaction.delete(Selector.by_ids(name, [f"id {n}" for n in numbers]))


def connect(location: Location) -> Any:
    """Open Chroma with its own client, like another program."""
    settings = Settings(anonymized_telemetry=False)
    if isinstance(location, Path):
        return chromadb.PersistentClient(path=location, settings=settings)
    address = urlsplit(location)
    return chromadb.HttpClient(str(address.hostname), int(address.port or 0), settings=settings)


@contextmanager
def other_program(location: Location) -> Iterator[Any]:
    client = connect(location)
    try:
        yield client
    finally:
        hang_up(client)


def hang_up(client: Any) -> None:
    """Close a client of Chroma's, which leaves its connections to a server open."""
    for side in (client, client._admin_client):
        if hasattr(side._server, "_session"):
            side._server._session.close()
    client.close()


def read_chroma(location: Location) -> dict[str, Copy]:
    """Read everything in a Chroma, by collection."""
    found: dict[str, Copy] = {}
    with other_program(location) as client:
        for one in client.list_collections():
            got = one.get(include=["documents", "metadatas", "embeddings"])
            rows = zip(
                *(got["ids"], got["documents"], got["metadatas"]),
                np.asarray(got["embeddings"], np.float32),
                strict=True,
            )
            found[one.name] = Copy(
                str((one.metadata or {}).get("embedder") or ""),
                {i: (Record(i, t, dict(m or {})), v.tolist()) for i, t, m, v in rows},
            )
    return found


def read_store(store: VectorStore) -> dict[str, Copy]:
    """Read everything in a store, in the same form."""
    found: dict[str, Copy] = {}
    for name in store.collections():
        records, vectors = store.get_with_vectors(Selector.everything(name))
        rows = zip(records, vectors, strict=True)
        found[name] = Copy(
            store.model(name),
            {r.id: (Record(r.id, r.text, dict(r.metadata)), v.tolist()) for r, v in rows},
        )
    return found


def replicator_of(store: EmbeddedStore) -> Replicator:
    assert isinstance(store.mirror, Replicator)
    return store.mirror


def count_entries(store: EmbeddedStore) -> int:
    """Count the entries of the outbox."""
    return sum(store.outbox.count().values())


def eventually(condition: Callable[[], object], within_s: float = 60.0) -> None:
    """Wait until the condition holds."""
    give_up_at = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < give_up_at, "it does not happen"
        time.sleep(0.02)


@contextmanager
def at_once() -> Iterator[None]:
    """Assert that the block does not wait for Chroma."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < AT_ONCE_S


def find_processes(location: Location) -> list[psutil.Process]:
    """Find the processes that this process or its descendants started for this Chroma."""
    found = []
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            if one.cmdline()[-1:] == [str(location)]:
                found.append(one)
    return found


def run_with(settings: str) -> tuple[str, ...]:
    """Return a command for Chroma's process that first runs these statements."""
    script = (
        "import sys; from quinion.store.chroma import client, process\n"
        f"{settings}\n"
        "process.main(*sys.argv[1:])"
    )
    return sys.executable, "-P", "-c", script


def copy_home(source: Path, target: Path) -> Path:
    """Copy a home with file times, so that the mirror's stamp remains valid."""
    shutil.copytree(source, target)
    return target


@dataclass(frozen=True, slots=True)
class Call:
    """A call to Chroma's process."""

    method: str
    arguments: tuple[Any, ...]

    @property
    def collection(self) -> str:
        return str(self.arguments[0])

    @property
    def deleted(self) -> list[str]:
        return list(self.arguments[2])

    @property
    def written(self) -> list[Record]:
        return list(self.arguments[3])


def watch_calls(
    monkeypatch: pytest.MonkeyPatch,
    before: Callable[[Call], None] = lambda _: None,
    after: Callable[[Call], None] = lambda _: None,
) -> list[Call]:
    """Record all calls to Chroma from now on; `before` and `after` run with each of them."""
    calls: list[Call] = []
    call = process._RemoteClient._call

    def note(self: Any, method: str, *arguments: Any) -> Any:
        calls.append(Call(method, arguments))
        before(calls[-1])
        answer = call(self, method, *arguments)
        after(Call(method, arguments))
        return answer

    monkeypatch.setattr(process._RemoteClient, "_call", note)
    return calls
