"""The compositions that take a document in: read it, index it.

`read` is file → pages, in worker processes; `embed` is chunks → vectors, in threads; and
`read_and_embed` is both at once: while pages are read, those before them are split and embedded.
Storing the outcome is `Engine.writing`, with records that the server's contract shapes.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Protocol

import anyio
import numpy as np

from quinion.chunk.recursive import Chunker
from quinion.embed.port import Vectors
from quinion.extract.verdict import (
    Inspection,
    PageKind,
    Verdict,
    choose_pages_to_probe,
    contains_drawings,
    decide,
)
from quinion.model.chunk import Chunk
from quinion.model.line import LinedPage, lined_page_of_json
from quinion.model.page import Method, Page
from quinion.pipeline.engine import Engine, in_thread
from quinion.pipeline.frames import Frame
from quinion.pipeline.progress import Progress
from quinion.pipeline.source import Source, check_unchanged
from quinion.pipeline.tasks import together
from quinion.pipeline.workers import Workers

SLICE_PAGES = 8
"""Small enough that a short document gets a worker soon while a long one is being read."""
SLICE_CHUNKS = 256
"""Enough to sort by length and keep all cores busy; few enough to stop soon when cancelled."""

OnPage = Callable[[Page], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Reading:
    """A document as read; a picture has no pages that were read."""

    inspection: Inspection
    pages: Sequence[Page]
    probed: Mapping[int, PageKind]

    @property
    def is_picture(self) -> bool:
        return not self.pages

    @property
    def is_blank(self) -> bool:
        """No text on any page."""
        return not any(page.text.strip() for page in self.pages)

    @property
    def contains_drawings(self) -> bool:
        return contains_drawings(self.inspection, self.pages, self.probed)


async def read(
    engine: Engine,
    source: Source,
    *,
    ocr: bool,
    threshold: float,
    progress: Progress,
    on_page: OnPage | None = None,
) -> Reading:
    """Read all pages, unless the document turns out to be a drawing or a photograph.

    `on_page` gets each page as soon as it and all before it are read. Progress counts each page
    twice: when it is read, and (by `embed`) when it is indexed.

    Raises:
        ExtractionFailed: it can't be read, or changed meanwhile.
    """
    workers, path = engine.workers, str(source.real_path)
    options = {"ocr": ocr, "extension": source.path.suffix}
    found = await workers.first("inspect", path=path, options=options)
    inspection = Inspection(found["page_count"], tuple(found["image_ratios"]))
    probed: dict[int, PageKind] = {}

    async def note(item: Frame) -> None:
        probed[item["number"]] = PageKind(item["kind"])

    if ocr and (numbers := choose_pages_to_probe(inspection, threshold)):
        await workers.run("probe", note, path=path, numbers=numbers, options=options)
    if decide(inspection, threshold, list(probed.values())) is Verdict.PICTURE:
        return Reading(inspection, [], probed)
    pages = await _read_pages(workers, path, inspection.page_count, options, progress, on_page)
    await in_thread(check_unchanged, source)
    return Reading(inspection, pages, probed)


async def read_and_embed(
    engine: Engine, source: Source, *, ocr: bool, threshold: float, progress: Progress
) -> tuple[Reading, list[Chunk], Vectors]:
    """Read a document, and split and embed its pages while others are still being read.

    A document without text has no chunks.

    Raises:
        ExtractionFailed, ModelUnavailable: as `read` and `embed` say.
    """
    chunker, chunks = Chunker(), list[Chunk]()
    vectors: list[Vectors] = []
    steps = _Steps(progress)
    to_embed, split = anyio.create_memory_object_stream[list[Chunk]](inf)
    reading: Reading | None = None

    async def take(page: Page) -> None:
        await to_embed.send(await in_thread(chunker.add, page))

    async def read_all() -> None:
        nonlocal reading
        with to_embed:
            reading = await read(
                engine,
                source,
                ocr=ocr,
                threshold=threshold,
                progress=steps.tell_read,
                on_page=take,
            )
            await to_embed.send(await in_thread(chunker.finish))

    async def embed_all() -> None:
        embedded = 0
        async for some in split:
            chunks.extend(some)
            while len(chunks) - embedded >= SLICE_CHUNKS:
                embedded += await embed_some(embedded)
        while embedded < len(chunks):
            embedded += await embed_some(embedded)

    async def embed_some(first: int) -> int:
        part = chunks[first : first + SLICE_CHUNKS]
        vectors.append(await in_thread(engine.embedder.embed, [chunk.text for chunk in part]))
        await steps.tell_indexed(part[-1].pages[-1])
        return len(part)

    with to_embed, split:
        await together(read_all, embed_all)
    assert reading is not None
    return reading, chunks, np.concatenate(vectors) if vectors else np.empty((0, 0), np.float32)


class _Steps:
    """Progress of two things at once, which only ever grows."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._read = self._indexed = self._total = 0.0

    async def tell_read(self, done: float, total: float, message: str) -> None:
        self._read, self._total = done, total
        await self._progress(self._read + self._indexed, total, message)

    async def tell_indexed(self, page: int) -> None:
        self._indexed = page
        message = f"indexed up to page {page} of {self._total / 2:.0f}"
        await self._progress(self._read + self._indexed, self._total, message)


class Embeddable(Protocol):
    """A chunk of whatever kind."""

    @property
    def text(self) -> str: ...

    @property
    def pages(self) -> tuple[int, ...]: ...


async def embed(
    engine: Engine, chunks: Sequence[Embeddable], page_count: int, progress: Progress
) -> Vectors:
    """A vector for each chunk, in order.

    Raises:
        ModelUnavailable: the model can't be loaded.
    """
    parts: list[Vectors] = []
    for start in range(0, len(chunks), SLICE_CHUNKS):
        part = chunks[start : start + SLICE_CHUNKS]
        parts.append(await in_thread(engine.embedder.embed, [chunk.text for chunk in part]))
        reached = part[-1].pages[-1]
        await progress(
            page_count + reached, 2 * page_count, f"indexed up to page {reached} of {page_count}"
        )
    return np.concatenate(parts)


async def read_lined(engine: Engine, source: Source, progress: Progress) -> list[LinedPage]:
    """Read all pages with their lines, scanned ones by OCR, whatever the document looks like.

    Raises:
        ExtractionFailed: it can't be read, or changed meanwhile.
    """
    path = str(source.real_path)
    options = {"ocr": True, "extension": source.path.suffix}
    found = await engine.workers.first("inspect", path=path, options=options)
    pages: dict[int, LinedPage] = {}

    async def keep(item: Frame) -> Page:
        lined = lined_page_of_json(item)
        pages[lined.page.number] = lined
        return lined.page

    await _read_slices(
        engine.workers, "read_lined_pages", path, found["page_count"], options, keep, progress
    )
    await in_thread(check_unchanged, source)
    return [pages[number] for number in sorted(pages)]


async def _read_pages(
    workers: Workers,
    path: str,
    page_count: int,
    options: Frame,
    progress: Progress,
    on_page: OnPage | None,
) -> list[Page]:
    pages: dict[int, Page] = {}
    giving = anyio.Lock()
    following = 1

    async def keep(item: Frame) -> Page:
        nonlocal following
        page = Page(item["number"], item["text"], Method(item["method"]), item["confidence"])
        pages[page.number] = page
        if on_page:
            async with giving:
                while following in pages:
                    await on_page(pages[following])
                    following += 1
        return page

    await _read_slices(workers, "read_pages", path, page_count, options, keep, progress)
    return [pages[number] for number in sorted(pages)]


async def _read_slices(
    workers: Workers,
    job: str,
    path: str,
    page_count: int,
    options: Frame,
    keep: Callable[[Frame], Awaitable[Page]],
    progress: Progress,
) -> None:
    """Let all workers read slices of the document until there are none left."""
    slices = iter(range(1, page_count + 1, SLICE_PAGES))
    count = 0

    async def take(item: Frame) -> None:
        nonlocal count
        page = await keep(item)
        count += 1
        message = f"read page {page.number} of {page_count} ({page.method})"
        await progress(count, 2 * page_count, message)

    async def read_slices() -> None:
        for first in slices:
            last = min(first + SLICE_PAGES - 1, page_count)
            await workers.run(job, take, path=path, first=first, last=last, options=options)

    await together(*[read_slices] * workers.size)
