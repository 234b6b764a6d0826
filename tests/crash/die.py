"""Does one operation and kills itself at a given moment of it.

    python -m tests.crash.die OPERATION HOME FILE MOMENT

Moments are counted, not timed: each step that reaches the disk (a backup, an intent, a mark, a
batch of vectors, a collection that goes, a change of the registry, the striking out of the
intent) has one before and one after. What Chroma gets later is no step of the operation.
"""

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from datetime import date
from functools import wraps
from pathlib import Path
from typing import Any

import anyio
from chromadb.api.client import Client as ChromaClient
from mcp import Client

from quinion.model.policy import RevisionDraft
from quinion.pipeline import engine as engine_module
from quinion.pipeline.engine import Engine, open_engine
from quinion.pipeline.pictures import Pictures
from quinion.servers import doclibrary, document_store, docvec, policy_kb
from quinion.servers.contract import ContractServer
from quinion.servers.docvec.records import Shelf
from quinion.settings import Settings
from quinion.store.blobs import Blobs
from quinion.store.journal import Journal
from quinion.store.ledger import Ledger
from quinion.store.marks import Marks
from quinion.store.registry import PolicyRegistry

REVISION = {"source": "NPPF", "revision_id": "rev_NPPF_2024_12"}
SUCCESSOR = RevisionDraft("January 2026", date(2026, 1, 1))

SHELF = Shelf(Settings().docvec_collection)

STEPS: list[tuple[object, str]] = [
    (engine_module, "save"),
    (Journal, "begin"),
    (Journal, "end"),
    (Marks, "set"),
    (Marks, "drop"),
    (Ledger, "upsert"),
    (Ledger, "set_metadata"),
    (Ledger, "delete"),
    (Ledger, "drop"),
    (ChromaClient, "delete_collection"),
    (PolicyRegistry, "create_revision"),
    (PolicyRegistry, "update_revision"),
    (PolicyRegistry, "delete_revision"),
    (Blobs, "doubt"),
    (Blobs, "keep"),
    (Blobs, "trust"),
    (Blobs, "drop"),
    (Pictures, "drop"),
]


class Countdown:
    def __init__(self, moment: int) -> None:
        self.left = moment

    def tick(self) -> None:
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1

    def around(self, owner: object, name: str) -> None:
        function: Callable[..., Any] = getattr(owner, name)

        @wraps(function)
        def counted(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get("from_chroma"):  # a home that was copied is taken in before it is used
                return function(*args, **kwargs)
            self.tick()
            result = function(*args, **kwargs)
            self.tick()
            return result

        setattr(owner, name, counted)


async def _call(server: ContractServer, tool: str, arguments: dict[str, Any]) -> None:
    async with Client(server) as client:
        result = await client.call_tool(tool, arguments)
        print(result.structured_content, flush=True)


async def ingest_document(engine: Engine, file: str) -> None:
    arguments = {"file_path": file, "application_ref": "26/00001/FUL"}
    await _call(document_store.build(engine), "ingest_document", arguments)


async def ingest_revision(engine: Engine, file: str) -> None:
    arguments = {**REVISION, "file_path": file}
    await _call(policy_kb.build(engine), "ingest_policy_revision", arguments)


async def remove_revision(engine: Engine, _: str) -> None:
    await _call(policy_kb.build(engine), "remove_policy_revision", REVISION)


async def supersede(engine: Engine, _: str) -> None:
    await policy_kb.open_knowledge(engine).create_revision("NPPF", SUCCESSOR)


async def index_directory(engine: Engine, folder: str) -> None:
    await _call(docvec.build(engine), "index_directory", {"dir_path": folder})


async def delete_file(engine: Engine, file: str) -> None:
    await _call(docvec.build(engine), "delete_file", {"source_file": file})


async def delete_chunks(engine: Engine, file: str) -> None:
    """All chunks of a file but the first."""
    chunks = await engine.get(SHELF.chunks, where={"source_file": file})
    ids = [chunk.id for chunk in chunks if chunk.metadata["chunk_index"]]
    await _call(docvec.build(engine), "delete_chunks", {"ids": ids})


async def clear_index(engine: Engine, _: str) -> None:
    await _call(docvec.build(engine), "clear_index", {"confirm": True})


async def add_document(engine: Engine, file: str) -> None:
    await _call(doclibrary.build(engine), "add_document", {"file_path": file})


async def remove_document(engine: Engine, slug: str) -> None:
    await _call(doclibrary.build(engine), "remove_document", {"document_slug": slug})


OPERATIONS: dict[str, Callable[[Engine, str], Awaitable[None]]] = {
    operation.__name__: operation
    for operation in (
        *(ingest_document, ingest_revision, remove_revision, supersede),
        *(index_directory, delete_file, delete_chunks, clear_index),
        *(add_document, remove_document),
    )
}


async def main(operation: str, home: str, file: str) -> None:
    async with open_engine(Settings(home=Path(home), workers=1)) as engine:
        await OPERATIONS[operation](engine, file)


if __name__ == "__main__":
    operation, home, file, moment = sys.argv[1:]
    countdown = Countdown(int(moment))
    for owner, name in STEPS:
        countdown.around(owner, name)
    anyio.run(main, operation, home, file)
