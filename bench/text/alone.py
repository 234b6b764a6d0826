"""Ingest stages in isolation: the engine's functions without a server.

    python -m bench.text.alone HOME

The configuration and concurrency are those of the server. It answers requests like a peer
(`peer.py`); each answer is the time that a stage took in this process and its workers.
"""

import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio
import numpy as np
from anyio.from_thread import BlockingPortal, start_blocking_portal

from bench.mirror import flush_mirror
from bench.peer import serve
from bench.processes import measure_cpu_s, measure_embedding_s
from bench.sides import our_variables
from quinion.chunk.recursive import chunk_pages, join_pages
from quinion.classify.classifier import classify
from quinion.cli.documents.ingest import AT_ONCE
from quinion.concurrency import in_thread
from quinion.embed.base import Vectors
from quinion.engine import Engine, open_engine
from quinion.ingest import documents
from quinion.ingest.applications.ingestion import EXTENSIONS
from quinion.ingest.applications.records import IngestedDocument
from quinion.ingest.documents import ExtractedDocument
from quinion.ingest.progress import no_progress
from quinion.ingest.source import Source, open_source
from quinion.model.chunk import Chunk
from quinion.model.page import document_method
from quinion.servers.document_store.records import (
    CHUNKS,
    REGISTRY,
    chunk_records,
    possible_ids,
    registry_record,
)
from quinion.settings import Settings
from quinion.store.collections import Write


@dataclass
class Held:
    """A document between two stages."""

    source: Source
    reading: ExtractedDocument
    chunks: Sequence[Chunk] = ()
    vectors: Vectors = field(default_factory=lambda: np.empty((0, 0), np.float32))


class Stages:
    """The stages of one engine, with the documents in progress."""

    def __init__(self, portal: BlockingPortal, engine: Engine) -> None:
        self._portal = portal
        self._engine = engine
        self._held: dict[str, Held] = {}

    def fingerprint(self, _: None) -> Mapping[str, str]:
        return {"fingerprint": self._engine.embedder.fingerprint}

    def read(self, files: Sequence[str]) -> Mapping[str, float]:
        return self._cost(self._read, files)

    def chunk(self, files: Sequence[str]) -> Mapping[str, float]:
        return self._cost(self._chunk, files)

    def embed(self, files: Sequence[str]) -> Mapping[str, float]:
        return self._cost(self._embed, files)

    def store(self, files: Sequence[str]) -> Mapping[str, float]:
        """Run the last stage, then release the documents."""
        cost = self._cost(self._store, files)
        self._held.clear()
        return cost

    def _cost(
        self, stage: Callable[[str], Awaitable[None]], files: Sequence[str]
    ) -> Mapping[str, float]:
        cost: dict[str, float] = {}
        with measuring(cost):
            self._portal.call(for_each, stage, files)
        return cost

    async def _read(self, file: str) -> None:
        settings = self._engine.settings
        source = await in_thread(open_source, file, EXTENSIONS, ())
        reading = await documents.read(
            self._engine,
            source,
            ocr=settings.enable_ocr,
            threshold=settings.image_ratio_threshold,
            progress=no_progress,
        )
        self._held[file] = Held(source, reading)

    async def _chunk(self, file: str) -> None:
        self._held[file].chunks = chunk_pages(self._held[file].reading.pages)

    async def _embed(self, file: str) -> None:
        held = self._held[file]
        pages = held.reading.inspection.page_count
        held.vectors = await documents.embed(self._engine, held.chunks, pages, no_progress)

    async def _store(self, file: str) -> None:
        held = self._held[file]
        text = join_pages(held.reading.pages)
        document = IngestedDocument(
            id=next(possible_ids("bench", held.source.sha256)),
            file_path=held.source.path,
            file_hash=held.source.sha256,
            application_ref="bench",
            document_type=classify(held.source.path.name, text),
            chunk_count=len(held.chunks),
            ingested_at=datetime.now(UTC),
            extraction_method=document_method(held.reading.pages),
            contains_drawings=held.reading.contains_drawings,
        )
        placeholder = np.zeros((1, held.vectors.shape[1]), np.float32)

        def store(write: Write) -> None:
            write.upsert(CHUNKS, chunk_records(document, text, held.chunks), held.vectors)
            write.upsert(REGISTRY, [registry_record(document)], placeholder)

        await self._engine.collections.write(store)
        await in_thread(flush_mirror, self._engine.store)


async def for_each(stage: Callable[[str], Awaitable[None]], files: Sequence[str]) -> None:
    """Run a stage with the concurrency of `quinion ingest`."""
    pending = iter(files)

    async def take() -> None:
        for file in pending:
            await stage(file)

    async with anyio.create_task_group() as group:
        for _ in range(AT_ONCE):
            group.start_soon(take)


@contextmanager
def measuring(cost: dict[str, Any]) -> Iterator[None]:
    """Measure the time that the block takes in this process and its children."""
    cpu_s, embedding_cpu_s = measure_cpu_s(os.getpid()), measure_embedding_s(os.getpid())
    began = perf_counter()
    yield
    cost["wall_s"] = perf_counter() - began
    cost["cpu_s"] = measure_cpu_s(os.getpid()) - cpu_s
    cost["embedding_cpu_s"] = measure_embedding_s(os.getpid()) - embedding_cpu_s


def main(home: Path) -> None:
    settings = Settings.from_environment(dict(our_variables(home)))
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_engine(settings)) as engine,
    ):
        serve(lambda _: Stages(portal, engine), ())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
