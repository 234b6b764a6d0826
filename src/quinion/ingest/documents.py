"""Ingestion of documents: read their pages, embed their chunks.

`read` is file → pages, in worker processes. `embed` is chunks → vectors, in threads. `streaming`
overlaps both. The callers store the result with `Collections.write`, in records of their contract.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import anyio
import numpy as np

from quinion.concurrency import in_thread, together
from quinion.embed.base import Vectors
from quinion.errors import ExtractionFailed
from quinion.extract.scans.scan_decision import (
    DocumentKind,
    Inspection,
    PageKind,
    choose_pages_to_probe,
    contains_drawings,
    decide,
    has_layer,
)
from quinion.framing import Frame
from quinion.ingest.engine_resources import Resources
from quinion.ingest.progress import Progress
from quinion.ingest.source import Source, check_unchanged
from quinion.model.line import LinedPage, lined_page_of_json
from quinion.model.page import Method, Page
from quinion.workers.pool import OnItem, Workers

SURVEYED_PAGES = 32
SLICE_PAGES = 8
"""Pages per worker job: small, so that a short document soon gets a worker during a long OCR."""
SLICE_CHUNKS = 128
"""Enough chunks to sort by length and keep all cores busy; few enough to cancel quickly."""
MAX_CHARACTERS = 32_000_000
"""Limit for all pages of a document, which are held in memory: twice as many as five thousand
printed pages have."""
LINE_CHARACTERS = 50
"""Cost of a line in addition to its text, because its position and typography are stored."""

ANY_PICTURE = 1.0
"""Image ratio that no PDF exceeds: an indexed file is always read for its text."""

OnPage = Callable[[Page], Awaitable[None]]
Slice = tuple[int, int]
"""First and last page of a range."""


@dataclass(frozen=True, slots=True)
class ExtractedDocument:
    """The result of reading a document; drawings and photographs have no pages."""

    inspection: Inspection
    pages: Sequence[Page]
    probed: Mapping[int, PageKind]

    @property
    def is_picture(self) -> bool:
        return not self.pages

    @property
    def is_blank(self) -> bool:
        """Whether no page has text."""
        return not any(page.text.strip() for page in self.pages)

    @property
    def contains_drawings(self) -> bool:
        return contains_drawings(self.inspection, self.pages, self.probed)


async def read(
    resources: Resources,
    source: Source,
    *,
    ocr: bool,
    threshold: float,
    progress: Progress,
    on_page: OnPage | None = None,
) -> ExtractedDocument:
    """Read all pages, unless the document is a drawing or a photograph.

    `on_page` receives the pages in order, each as soon as it and all earlier pages are read.
    Progress counts each page twice: when it is read and when it is indexed (by `embed`).

    Raises:
        ExtractionFailed: the file can't be read, or changed while it was read.
    """
    workers, path = resources.workers, str(source.real_path)
    options = {"ocr": ocr, "extension": source.path.suffix}
    surveyed = await _survey(workers, path, options, _CharacterBudget(source.path.name))
    inspection = Inspection(len(surveyed), tuple(page["image_ratio"] for page in surveyed))
    probed: dict[int, PageKind] = {}

    async def add_probe(item: Frame) -> None:
        probed[item["number"]] = PageKind(item["kind"])

    if ocr and (numbers := choose_pages_to_probe(inspection, threshold)):
        await workers.run("probe", add_probe, path=path, numbers=numbers, options=options)
    if decide(inspection, threshold, list(probed.values())) is DocumentKind.PICTURE:
        return ExtractedDocument(inspection, [], probed)
    pages = await _read_pages(workers, path, surveyed, options, progress, on_page)
    await in_thread(check_unchanged, source)
    return ExtractedDocument(inspection, pages, probed)


class Embeddable(Protocol):
    """A chunk of any kind."""

    @property
    def text(self) -> str: ...

    @property
    def pages(self) -> tuple[int, ...]: ...


async def embed(
    resources: Resources, chunks: Sequence[Embeddable], page_count: int, progress: Progress
) -> Vectors:
    """Embed the chunks: one vector for each, in order.

    Raises:
        ModelUnavailable: the model can't be loaded.
    """
    parts: list[Vectors] = []
    for start in range(0, len(chunks), SLICE_CHUNKS):
        part = chunks[start : start + SLICE_CHUNKS]
        parts.append(await in_thread(resources.embedder.embed, [chunk.text for chunk in part]))
        reached = part[-1].pages[-1]
        await progress(
            page_count + reached, 2 * page_count, f"indexed up to page {reached} of {page_count}"
        )
    return np.concatenate(parts)


async def read_lined(resources: Resources, source: Source, progress: Progress) -> list[LinedPage]:
    """Read all pages with their lines; scanned pages are read by OCR in every document.

    Raises:
        ExtractionFailed: the file can't be read, or changed while it was read.
    """
    path = str(source.real_path)
    options = {"ocr": True, "extension": source.path.suffix}
    found = await resources.workers.first("survey", path=path, first=1, last=1, options=options)
    read_progress = _ReadProgress(found["page_count"], progress)
    pages: dict[int, LinedPage] = {}
    budget = _CharacterBudget(source.path.name)

    async def keep(item: Frame) -> None:
        budget.spend(len(item["page"]["text"]) + LINE_CHARACTERS * len(item["lines"]))
        lined = lined_page_of_json(item)
        pages[lined.page.number] = lined
        await read_progress.report(lined.page)

    slices = group_pages(range(1, read_progress.page_count + 1), SLICE_PAGES)
    await _run_slices(resources.workers, "read_lined_pages", slices, keep, path, options)
    await in_thread(check_unchanged, source)
    return [pages[number] for number in sorted(pages)]


async def _survey(
    workers: Workers, path: str, options: Frame, budget: "_CharacterBudget"
) -> list[Frame]:
    """Survey all pages: text layer and image ratio, without OCR (`document.SurveyedPage`)."""
    found: dict[int, Frame] = {}

    async def keep(item: Frame) -> None:
        budget.spend(len(item["text"]))
        found[item["number"]] = item

    await _run_slices(workers, "survey", [(1, SURVEYED_PAGES)], keep, path, options)
    others = group_pages(range(SURVEYED_PAGES + 1, found[1]["page_count"] + 1), SURVEYED_PAGES)
    await _run_slices(workers, "survey", others, keep, path, options)
    return [found[number] for number in sorted(found)]


async def _read_pages(
    workers: Workers,
    path: str,
    surveyed: Sequence[Frame],
    options: Frame,
    progress: Progress,
    on_page: OnPage | None,
) -> list[Page]:
    """Build the pages from the text layers of the survey; pages without one are read by OCR."""
    layered = [page for page in surveyed if has_layer(page["text"]) or not options["ocr"]]
    read_progress = _ReadProgress(len(surveyed), progress)
    pages: dict[int, Page] = {}
    delivering = anyio.Lock()
    next_number = 1

    async def keep(page: Page) -> None:
        nonlocal next_number
        pages[page.number] = page
        if on_page:
            async with delivering:
                while next_number in pages:
                    await on_page(pages[next_number])
                    next_number += 1
        await read_progress.report(page)

    async def keep_layered() -> None:
        for page in layered:
            number, text, hidden = page["number"], page["text"], page["hidden"]
            await keep(Page(number, text, Method.TEXT_LAYER, hidden=hidden, words=page["words"]))

    async def keep_read(item: Frame) -> None:
        await keep(Page(**{**item, "method": Method(item["method"])}))

    scanned = sorted({*range(1, len(surveyed) + 1)} - {page["number"] for page in layered})
    slices = group_pages(scanned, SLICE_PAGES)
    read_scanned = partial(_run_slices, workers, "read_pages", slices, keep_read, path, options)
    await together(keep_layered, read_scanned)
    return [pages[number] for number in sorted(pages)]


async def _run_slices(
    workers: Workers,
    job: str,
    slices: Sequence[Slice],
    on_item: OnItem,
    path: str,
    options: Frame,
) -> None:
    """Run a job on all slices of the document, distributed over the workers."""
    pending = iter(slices)

    async def work() -> None:
        for first, last in pending:
            await workers.run(job, on_item, path=path, first=first, last=last, options=options)

    await together(*[work] * min(len(slices), workers.size))


def group_pages(numbers: Iterable[int], size: int) -> list[Slice]:
    """Group page numbers into consecutive ranges of at most `size`, as first and last."""
    slices: list[Slice] = []
    for number in numbers:
        first, last = slices[-1] if slices else (0, -1)
        if number == last + 1 and number < first + size:
            slices[-1] = first, number
        else:
            slices.append((number, number))
    return slices


class _CharacterBudget:
    """Limit on the characters of one document."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._left = MAX_CHARACTERS

    def spend(self, characters: int) -> None:
        """Subtract characters from the budget.

        Raises:
            ExtractionFailed: the budget is exceeded.
        """
        self._left -= characters
        if self._left < 0:
            raise ExtractionFailed(
                f"{self._name} has more than {MAX_CHARACTERS:,} characters of text, which is the "
                "limit. Split the document."
            )


class _ReadProgress:
    """Progress of reading: the number of pages read."""

    def __init__(self, page_count: int, progress: Progress) -> None:
        self.page_count = page_count
        self._progress = progress
        self._done = 0

    async def report(self, page: Page) -> None:
        self._done += 1
        message = f"read page {page.number} of {self.page_count} ({page.method})"
        await self._progress(self._done, 2 * self.page_count, message)
