"""Records that are stored behind a server's back: in its store, or in its Chroma folder.

Chroma's library runs in a separate process, because only one process may have a folder open, and
Chroma keeps a folder open until the process exits.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.contract.process import Home

DIMENSIONS = 384


@dataclass(frozen=True)
class Entry:
    """A record of a collection."""

    id: str
    text: str
    metadata: dict[str, Any]
    vector: list[float] = field(repr=False)


def read(folder: Path) -> dict[str, list[Entry]]:
    """Read everything in the folder, by collection. No other process may have it open."""
    found = json.loads(_run("read", folder, ""))
    return {name: [Entry(**entry) for entry in entries] for name, entries in found.items()}


def write(folder: Path, entries: Mapping[str, Sequence[Entry]]) -> None:
    """Add entries to collections by name, creating missing collections.

    Short vectors are padded with zeros.
    """
    given = {name: [asdict(entry) for entry in some] for name, some in entries.items()}
    _run("write", folder, json.dumps(given))


def put(home: "Home", entries: Mapping[str, Sequence[Entry]]) -> None:
    """Add entries to the store of a home that no server has, as an import from Chroma does."""
    import numpy as np

    from quinion.home import store_place
    from quinion.model.record import Record
    from quinion.settings import Settings
    from quinion.store.factory import open_store

    settings = Settings.from_environment(home.environment({}))
    with closing(open_store(store_place(settings))) as store, store.transaction() as transaction:
        for name, some in entries.items():
            records = [Record(entry.id, entry.text, entry.metadata) for entry in some]
            vectors = np.array([_pad(entry.vector) for entry in some], np.float32)
            transaction.upsert(name, records, vectors, "")


def _run(action: str, folder: Path, given: str) -> str:
    done = subprocess.run(
        [sys.executable, __file__, action, str(folder)],
        input=given,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def _main(action: str, folder: str) -> None:
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(folder, Settings(anonymized_telemetry=False))
    if action == "read":
        print(json.dumps({c.name: _entries_of(c) for c in client.list_collections()}))
    elif action == "write":
        for name, entries in json.load(sys.stdin).items():
            client.get_or_create_collection(name, embedding_function=None).upsert(
                ids=[entry["id"] for entry in entries],
                documents=[entry["text"] for entry in entries],
                metadatas=[entry["metadata"] for entry in entries],
                embeddings=[_pad(entry["vector"]) for entry in entries],
            )


def _pad(vector: list[float]) -> Sequence[float]:
    return vector + [0.0] * (DIMENSIONS - len(vector))


def _entries_of(collection: Any) -> list[dict[str, Any]]:
    found = collection.get(include=["documents", "metadatas", "embeddings"])
    return [
        {"id": id_, "text": text, "metadata": metadata, "vector": [float(x) for x in vector]}
        for id_, text, metadata, vector in zip(
            found["ids"],
            found["documents"],
            found["metadatas"],
            found["embeddings"],
            strict=True,
        )
    ]


if __name__ == "__main__":
    _main(*sys.argv[1:])
