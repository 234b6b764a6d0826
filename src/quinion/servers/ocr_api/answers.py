"""Response of an OCR request, written page by page.

The response is assembled in a file, because a long document may have many images.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import anyio

from quinion.errors import QuinionError
from quinion.framing import Frame
from quinion.ingest.markdown import MarkdownReader
from quinion.servers.ocr_api.problems import bad_file

MODEL = "mistral-ocr-latest"


@dataclass(frozen=True, slots=True)
class OcrOptions:
    """Options of a request. `pages` are 0-based; None selects all pages."""

    pages: tuple[int, ...] | None = None
    images: bool = False
    image_limit: int | None = None
    image_min_size: int = 0


async def write_answer(
    reader: MarkdownReader, path: Path, requested: OcrOptions, target: BinaryIO
) -> None:
    """Write the response for a document to `target`.

    Raises:
        Problem: a requested page does not exist.
        QuinionError: the document cannot be read.
    """
    path = Path(await anyio.Path(path).resolve())  # workers follow no links
    try:
        survey = await reader.survey(path)
        count = survey["page_count"]
        wanted = requested.pages if requested.pages is not None else tuple(range(count))
        if any(index >= count for index in wanted):
            raise bad_file(f"The document has {count} pages; there is no page {max(wanted)}.")
        writer = _Writer(target, requested)
        async for page in reader.read(path, survey, [index + 1 for index in wanted]):
            writer.add(page)
        writer.finish(path)
    except QuinionError as error:
        # The file name is internal and means nothing to the caller.
        message = error.message.replace(path.name, "the document")
        raise type(error)(message[:1].upper() + message[1:]) from error


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
