"""Time and memory of storing chunks, measured in a separate process.

    python -m bench.growth.fill MADE HOME START END [--plain]

Chunks are written through the vector store in groups, as an indexing run does. With --plain, HOME
is a Chroma folder that the plain stack opens later.
"""

import argparse
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time

import anyio
import chromadb
from chromadb.config import Settings as ChromaSettings

from bench.growth.made import STEP, load
from bench.mirror import flush_mirror
from bench.processes import measure_memory_mb
from quinion.concurrency import in_thread
from quinion.embed.base import Vectors
from quinion.engine import open_engine
from quinion.ingest.folders.indexer import GROUP_CHUNKS
from quinion.ingest.folders.records import IndexCollections
from quinion.model.record import Record
from quinion.settings import Settings

DOCVEC_COLLECTIONS = IndexCollections("documents")
PLAIN_COLLECTION = "application_docs"
WINDOW = 0.1
LEAST_WINDOW = 5_000
"""Only the last tenth of the chunks is timed, but at least this many: the cost at full size."""

Write = Callable[[list[Record], Vectors], Awaitable[None]]


@dataclass(frozen=True)
class Filled:
    """Time per timed chunk, and memory before and after."""

    cpu_ms: float
    wall_ms: float
    before_mb: float
    after_mb: float


@asynccontextmanager
async def open_ours(home: Path) -> AsyncIterator[Write]:
    async with open_engine(Settings(home=home)) as engine:

        async def write(records: list[Record], vectors: Vectors) -> None:
            await engine.collections.write(
                lambda write: write.upsert(DOCVEC_COLLECTIONS.chunks, records, vectors)
            )
            # Replication to Chroma is part of the cost, although no caller waits for it.
            await in_thread(flush_mirror, engine.store)

        yield write


@asynccontextmanager
async def open_plain(folder: Path) -> AsyncIterator[Write]:
    client = chromadb.PersistentClient(
        path=folder, settings=ChromaSettings(anonymized_telemetry=False)
    )
    chunks = client.get_or_create_collection(PLAIN_COLLECTION)

    async def write(records: list[Record], vectors: Vectors) -> None:
        chunks.add(
            ids=[record.id for record in records],
            documents=[record.text for record in records],
            metadatas=[dict(record.metadata) for record in records],
            embeddings=vectors,
        )

    yield write


async def fill(options: argparse.Namespace) -> Filled:
    made = load(options.made)
    window = max(LEAST_WINDOW, int(WINDOW * options.end))
    cpu_s = wall_s = 0.0
    counted = 0
    async with (open_plain if options.plain else open_ours)(options.home) as write:
        before_mb = measure_memory_mb(os.getpid())
        for start in range(options.start, options.end, STEP):
            end = min(start + STEP, options.end)
            records, vectors = made.records(start, end), made.vectors(start, end)
            for first in range(0, end - start, GROUP_CHUNKS):
                some = slice(first, first + GROUP_CHUNKS)
                cpu, began = process_time(), perf_counter()
                await write(records[some], vectors[some])
                if start + first >= options.end - window:
                    cpu_s += process_time() - cpu
                    wall_s += perf_counter() - began
                    counted += len(records[some])
        after_mb = measure_memory_mb(os.getpid())
    return Filled(1000 * cpu_s / counted, 1000 * wall_s / counted, before_mb, after_mb)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("made", type=Path)
    parser.add_argument("home", type=Path)
    parser.add_argument("start", type=int)
    parser.add_argument("end", type=int)
    parser.add_argument("--plain", action="store_true")
    print(json.dumps(asdict(anyio.run(fill, parser.parse_args()))))


if __name__ == "__main__":
    main()
