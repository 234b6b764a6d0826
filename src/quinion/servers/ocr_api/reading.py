"""OCR of a document: worker processes read the pages, and the response is written page by page.

The response is assembled in a file, because a long document may have many images.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

import anyio

from quinion.concurrency import together
from quinion.errors import QuinionError
from quinion.framing import Frame
from quinion.servers.ocr_api.problems import bad_file
from quinion.workers.pool import Workers

MODEL = "mistral-ocr-latest"
PAGES_PER_TASK = 4
"""Maximum number of consecutive pages that a worker reads in one task."""


@dataclass(frozen=True, slots=True)
class OcrOptions:
    """Options of a request. `pages` are 0-based; None selects all pages."""

    pages: tuple[int, ...] | None = None
    images: bool = False
    image_limit: int | None = None
    image_min_size: int = 0


class Reader:
    """Reads documents with worker processes."""

    def __init__(self, workers: Workers, *, ocr: bool = True) -> None:
        self._workers = workers
        self._options: Frame = {"ocr": ocr}

    async def read(self, path: Path, requested: OcrOptions, target: BinaryIO) -> None:
        """Write the response for a document to `target`.

        Raises:
            Problem: a requested page does not exist.
            QuinionError: the document cannot be read.
        """
        path = Path(await anyio.Path(path).resolve())  # workers follow no links
        try:
            await self._answer(path, requested, target)
        except QuinionError as error:
            # The file name is internal and means nothing to the caller.
            message = error.message.replace(path.name, "the document")
            raise type(error)(message[:1].upper() + message[1:]) from error

    async def _answer(self, path: Path, requested: OcrOptions, target: BinaryIO) -> None:
        survey = await self._workers.first("survey", path=str(path), options=self._options)
        count = survey["page_count"]
        wanted = requested.pages if requested.pages is not None else tuple(range(count))
        if any(index >= count for index in wanted):
            raise bad_file(f"The document has {count} pages; there is no page {max(wanted)}.")
        writer = _Writer(target, requested)
        slices = _slices(wanted)
        # One slice per worker at a time: pages are written in order, which bounds the memory.
        for start in range(0, len(slices), self._workers.size):
            for page in await self._read(path, slices[start : start + self._workers.size], survey):
                writer.add(page)
        writer.finish(path)

    async def _read(self, path: Path, slices: Sequence[list[int]], survey: Frame) -> list[Frame]:
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
                    first=part[0] + 1,
                    last=part[-1] + 1,
                    sizes=survey["sizes"],
                    options=self._options,
                )
                for part in slices
            )
        )
        return [pages[index + 1] for part in slices for index in part]


def _slices(wanted: Sequence[int]) -> list[list[int]]:
    """Split the pages into runs of consecutive pages, at most `PAGES_PER_TASK` long."""
    slices: list[list[int]] = []
    for index in wanted:
        if slices and slices[-1][-1] == index - 1 and len(slices[-1]) < PAGES_PER_TASK:
            slices[-1].append(index)
        else:
            slices.append([index])
    return slices


class _Writer:
    """Writes the JSON response page by page."""

    def __init__(self, target: BinaryIO, requested: OcrOptions) -> None:
        self._target = target
        self._requested = requested
        self._pages = 0
        self._images = 0
        target.write(b'{"pages": [')

    def add(self, page: Frame) -> None:
        self._target.write(b", " if self._pages else b"")
        self._target.write(json.dumps(self._describe(page)).encode())
        self._pages += 1

    def finish(self, path: Path) -> None:
        usage = {"pages_processed": self._pages, "doc_size_bytes": path.stat().st_size}
        tail = {"model": MODEL, "usage_info": usage, "document_annotation": None}
        self._target.write(b"], " + json.dumps(tail)[1:].encode())

    def _describe(self, page: Frame) -> Frame:
        return {
            "index": page["number"] - 1,
            "markdown": page["markdown"],
            "images": [self._image(figure) for figure in page["figures"] if self._includes(figure)],
            "dimensions": {side: page[side] for side in ("dpi", "width", "height")},
            "tables": [],
            "hyperlinks": [],
            "header": page["header"] or None,
            "footer": page["footer"] or None,
        }

    def _includes(self, figure: Frame) -> bool:
        left, top, right, bottom = figure["box"]
        if min(right - left, bottom - top) < self._requested.image_min_size:
            return False
        limit = self._requested.image_limit
        if limit is not None and self._images >= limit:
            return False
        self._images += 1
        return True

    def _image(self, figure: Frame) -> Frame:
        left, top, right, bottom = figure["box"]
        return {
            "id": figure["id"],
            "top_left_x": left,
            "top_left_y": top,
            "bottom_right_x": right,
            "bottom_right_y": bottom,
            "image_base64": f"data:image/jpeg;base64,{figure['jpeg']}"
            if self._requested.images
            else None,
            "image_annotation": None,
        }
