"""Streaming ingestion: earlier pages are split and embedded while later ones are read."""

from collections.abc import Awaitable, Callable, Sequence
from math import inf

import anyio
import numpy as np

from quinion.chunk.recursive import Chunker
from quinion.concurrency import in_thread, together
from quinion.embed.base import Vectors
from quinion.ingest.documents import SLICE_CHUNKS, ExtractedDocument, read
from quinion.ingest.engine_resources import Resources
from quinion.ingest.progress import Progress
from quinion.ingest.source import Source
from quinion.model.chunk import Chunk
from quinion.model.page import Page

PARALLEL_SLICES = 2
"""Slices embedded at a time: while one is divided into batches, or runs its last batches, the
cores work on the other."""
LONG_PAGE = 20_000
"""In characters. A shorter page is split faster than a thread can be started for it."""


async def read_and_embed(
    resources: Resources, source: Source, *, ocr: bool, threshold: float, progress: Progress
) -> tuple[ExtractedDocument, list[Chunk], Vectors]:
    """Read a document; split and embed its pages while later ones are being read.

    A document without text has no chunks.

    Raises:
        ExtractionFailed, ModelUnavailable: see `read` and `embed`.
    """
    overlap = _Overlap(resources, progress)

    async def read_all() -> ExtractedDocument:
        return await read(
            resources,
            source,
            ocr=ocr,
            threshold=threshold,
            progress=overlap.progress.report_read,
            on_page=overlap.split_page,
        )

    document = await overlap.run(read_all)
    return document, overlap.chunks, overlap.vectors()


class _Overlap:
    """Splits and embeds the pages of a document while later ones are read."""

    def __init__(self, resources: Resources, progress: Progress) -> None:
        self.progress = _OverallProgress(progress)
        self.chunks: list[Chunk] = []
        self._embedder = resources.embedder
        self._chunker = Chunker()
        self._vectors: dict[int, Vectors] = {}
        self._sent = 0
        self._to_embed, self._slices = anyio.create_memory_object_stream[Sequence[Chunk]](inf)

    async def run(self, read_all: Callable[[], Awaitable[ExtractedDocument]]) -> ExtractedDocument:
        """Read a document whose pages `split_page` receives; return when all are embedded."""
        document: ExtractedDocument | None = None

        async def read_and_split() -> None:
            nonlocal document
            with self._to_embed:
                document = await read_all()
                self.chunks.extend(await in_thread(self._chunker.finish))
                await self._send_slices(1)

        with self._to_embed, self._slices:
            await together(read_and_split, *[self._embed_slices] * PARALLEL_SLICES)
        assert document is not None
        return document

    async def split_page(self, page: Page) -> None:
        """Split a page, and send the chunks that fill a slice."""
        add, is_long = self._chunker.add, len(page.text) > LONG_PAGE
        self.chunks.extend(await in_thread(add, page) if is_long else add(page))
        await self._send_slices(SLICE_CHUNKS)

    def vectors(self) -> Vectors:
        """The vectors of all chunks, in order."""
        parts = [self._vectors[first] for first in sorted(self._vectors)]
        return np.concatenate(parts) if parts else np.empty((0, 0), np.float32)

    async def _send_slices(self, least: int) -> None:
        """Send unsent chunks in slices while there are at least that many."""
        while len(self.chunks) - self._sent >= least:
            part = self.chunks[self._sent : self._sent + SLICE_CHUNKS]
            self._sent += len(part)
            await self._to_embed.send(part)

    async def _embed_slices(self) -> None:
        async for part in self._slices:
            texts = [chunk.text for chunk in part]
            self._vectors[part[0].index] = await in_thread(self._embedder.embed, texts)
            await self.progress.report_indexed(part[-1].pages[-1])


class _OverallProgress:
    """Combined progress of reading and indexing; it never decreases."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._read = self._indexed = self._total = 0.0

    async def report_read(self, done: float, total: float, message: str) -> None:
        self._read, self._total = done, total
        await self._progress(self._read + self._indexed, total, message)

    async def report_indexed(self, page: int) -> None:
        self._indexed = max(self._indexed, page)  # a later slice may finish first
        message = f"indexed up to page {self._indexed:.0f} of {self._total / 2:.0f}"
        await self._progress(self._read + self._indexed, self._total, message)
