"""Ingests a file and kills itself at a given moment of the writing.

Moments are counted, not timed: each step that reaches the disk (an intent, a batch of
vectors, the line in the registry, the striking out of the intent) has one before and one after.
Batches are made small, so that there are many.
"""

import os
import signal
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import anyio
from chromadb.api.client import Client as ChromaClient
from chromadb.api.models.Collection import Collection
from mcp import Client

from quinion.pipeline.engine import open_engine
from quinion.servers import document_store
from quinion.settings import Settings
from quinion.store.journal import Journal

CHUNKS_AT_ONCE = 1


class Countdown:
    def __init__(self, moment: int) -> None:
        self.left = moment

    def tick(self) -> None:
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1

    def around(self, owner: type, name: str) -> None:
        function: Callable[..., Any] = getattr(owner, name)

        @wraps(function)
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.tick()
            result = function(*args, **kwargs)
            self.tick()
            return result

        setattr(owner, name, counted)


async def ingest(home: str, file: str) -> None:
    settings = Settings.from_environment({"QUINION_HOME": home, "QUINION_WORKERS": "1"})
    async with open_engine(settings) as engine, Client(document_store.build(engine)) as client:
        result = await client.call_tool(
            "ingest_document", {"file_path": file, "application_ref": "26/00001/FUL"}
        )
        print(result.structured_content, flush=True)


if __name__ == "__main__":
    home, file, moment = sys.argv[1:]
    countdown = Countdown(int(moment))
    countdown.around(Journal, "begin")
    countdown.around(Journal, "end")
    countdown.around(Collection, "upsert")
    setattr(ChromaClient, "get_max_batch_size", lambda _: CHUNKS_AT_ONCE)  # noqa: B010
    anyio.run(ingest, home, file)
