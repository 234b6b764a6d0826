"""Markdown of documents: file → pages with headings, tables and figures."""

from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

from quinion.concurrency import together
from quinion.framing import Frame
from quinion.ingest.documents import Slice, group_pages
from quinion.workers.pool import Workers

SLICE_PAGES = 4
"""Pages per worker job."""


class MarkdownReader:
    """Reads documents with worker processes; with `ocr`, scanned pages too."""

    def __init__(self, workers: Workers, *, ocr: bool = True) -> None:
        self._workers = workers
        self._options: Frame = {"ocr": ocr}

    async def survey(self, path: Path) -> Frame:
        """Find the number of pages, as `page_count`, and the sizes of the document's fonts.

        Raises:
            FileProblem: the document can't be read.
        """
        return await self._workers.first("survey", path=str(path), options=self._options)

    async def read(self, path: Path, survey: Frame, numbers: Sequence[int]) -> AsyncIterator[Frame]:
        """Yield these pages in this order.

        Each worker reads one slice at a time, so that only a few pages are in memory.

        Raises:
            FileProblem: the document can't be read.
        """
        slices = group_pages(numbers, SLICE_PAGES)
        for start in range(0, len(slices), self._workers.size):
            for page in await self._read_slices(
                path, survey, slices[start : start + self._workers.size]
            ):
                yield page

    async def _read_slices(self, path: Path, survey: Frame, slices: Sequence[Slice]) -> list[Frame]:
        pages: dict[int, Frame] = {}

        async def keep(page: Frame) -> None:
            pages[page["number"]] = page

        await together(
            *(
                partial(
                    self._workers.run,
                    "read_markdown",
                    keep,
                    path=str(path),
                    first=first,
                    last=last,
                    sizes=survey["sizes"],
                    options=self._options,
                )
                for first, last in slices
            )
        )
        return [pages[number] for first, last in slices for number in range(first, last + 1)]
