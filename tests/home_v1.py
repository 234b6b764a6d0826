"""Home created by quinion 0.1 (`tests/fixtures`), with its expected answers."""

import hashlib
import json
import sqlite3
import tarfile
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from mcp import Client

from quinion.engine import Engine
from quinion.model.record import Metadata
from quinion.servers.base import serving
from quinion.servers.registry import CATALOG
from quinion.settings import Settings
from quinion.store.base import Selector, VectorStore

FIXTURES = Path(__file__).parent / "fixtures"
EXPECTED: dict[str, Any] = json.loads((FIXTURES / "home_v1.json").read_text(encoding="utf-8"))
LEDGER = str(EXPECTED["made_by"]["ledger"])
"""Folder of the store inside the home; its name is a hash of the path of `OLD_CHROMA`."""
OLD_CHROMA = f"{EXPECTED['made_by']['home']}/chroma"


def unpack(home: Path) -> Path:
    """Write the home to this path, which must not exist."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(FIXTURES / "home_v1.tar.xz") as archive:
        for member in archive.getmembers():
            member.name = str(Path(home.name, *Path(member.name).parts[1:]))
            archive.extract(member, home.parent, filter="data")
    return home


def settings_of(home: Path, models: Path, **others: Any) -> Settings:
    """Return settings for the home, with the embedding engine that created it."""
    values = {"home": home, "models": models, "embedding_engine": "onnx", "workers": 1}
    return Settings(**{"chroma_dir": home / "chroma", **values, **others})


def read_content(store: VectorStore) -> dict[str, Any]:
    """Read all collections in the form of `home_v1.json`."""
    found = {}
    for name in store.collections():
        records, vectors = store.get_with_vectors(Selector.everything(name))
        found[name] = {
            "fingerprint": store.model(name),
            "dimensions": vectors.shape[1],
            "count": len(records),
            "records": {
                record.id: {
                    "content": _sha256(f"{record.text}\0{_dump(record.metadata)}".encode()),
                    "vector": _sha256(vector.astype(np.dtype("<f4")).tobytes()),
                }
                for record, vector in zip(records, vectors, strict=True)
            },
        }
    return found


def expected_content() -> dict[str, Any]:
    """Return the expected result of `read_content`."""
    content: dict[str, Any] = deepcopy(EXPECTED["collections"])
    for one in content.values():
        del one["free_places"]
    return content


def read_registry(home: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Read the rows of policies and revisions, without the columns that are newer and empty."""
    with closing(sqlite3.connect(home / "policies.db")) as database:
        database.row_factory = sqlite3.Row
        queries = (
            "SELECT * FROM policies ORDER BY source",
            "SELECT * FROM revisions ORDER BY source, effective_from",
        )
        policies, revisions = ([dict(row) for row in database.execute(q)] for q in queries)
    for revision in revisions:
        assert (revision.pop("draft", None), revision.pop("closed", None)) == (None, None)
    return policies, revisions


async def ask(engine: Engine) -> list[Any]:
    """Run each search of `home_v1.json` on the servers."""
    return [
        await search(engine, one["server"], one["tool"], one["arguments"])
        for one in EXPECTED["searches"]
    ]


async def search(engine: Engine, server: str, tool: str, arguments: dict[str, Any]) -> list[Any]:
    """Return the ids and scores that the server finds."""
    answer = await call(engine, server, tool, arguments)
    found = answer["data"] if server == "docvec" else answer
    return [
        {
            "chunk_id": one["chunk_id"],
            "score": round(one.get("relevance_score", one.get("score")), 4),
        }
        for one in found["results"]
    ]


async def call(engine: Engine, server: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool of a server built on this engine."""
    async with Client(CATALOG[server].load().build(engine)) as client:
        answer: dict[str, Any] | None
        with serving(command=True):
            answer = (await client.call_tool(tool, arguments)).structured_content
    assert answer is not None
    return answer


EXPECTED_ANSWERS = [one["results"] for one in EXPECTED["searches"]]


def _dump(metadata: Metadata) -> str:
    return json.dumps(dict(metadata), sort_keys=True)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
