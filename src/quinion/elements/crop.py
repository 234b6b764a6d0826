"""Render pages and parts of pages as PNGs, readable and small enough to send.

A picture over the limit first loses colours, which is hardly visible in drawings and text, and then
resolution.
"""
# PyMuPDF is marked as typed, but most of its functions have no annotations.
# mypy: allow-untyped-calls

import io
import math
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from quinion.elements.document import open_document, report_damage
from quinion.elements.mupdf_layout import pymupdf
from quinion.errors import InvalidInput
from quinion.model.element import Box

_POINTS_PER_INCH = 72
# The margin around a crop, in points.
MARGIN = 4.0
_PALETTE = 256
_MIN_SCALE = 0.1


@dataclass(frozen=True, slots=True)
class PictureLimits:
    """The target resolution and the limits of a picture.

    The defaults keep a reply under 1 MiB with the picture in Base64.
    """

    dpi: int = 200
    max_side: int = 2_000
    max_bytes: int = 740_000


def crop(path: Path, page: int, box: Box | None, limits: PictureLimits | None = None) -> bytes:
    """Render a page (1-based), or the box on it with a margin, as a PNG.

    Raises:
        InvalidInput: the document has no such page, or the box is outside of it.
        ExtractionFailed: the file or the page is damaged.
    """
    limits = limits or PictureLimits()
    with open_document(path) as document:
        if not 1 <= page <= document.page_count:
            raise InvalidInput(
                f"{path.name} has pages 1 to {document.page_count}; there is no page {page}."
            )
        with report_damage(path, page):
            return _render(document[page - 1], box, limits)


def _render(page: pymupdf.Page, box: Box | None, limits: PictureLimits) -> bytes:
    clip = page.rect
    if box is not None:
        wide = box.grow(MARGIN)
        clip = pymupdf.Rect(wide.x0, wide.y0, wide.x1, wide.y1) & page.rect
    if clip.is_empty:
        raise InvalidInput(f"The box {box} is outside of page {page.number + 1}.")
    scale = min(limits.dpi / _POINTS_PER_INCH, limits.max_side / max(clip.width, clip.height))
    while True:
        pixels = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), clip=clip, alpha=False)
        picture: bytes = pixels.tobytes("png")
        if len(picture) > limits.max_bytes:
            picture = _reduce_colours(pixels)
        if len(picture) <= limits.max_bytes or scale < _MIN_SCALE:
            return picture
        scale *= min(0.9, math.sqrt(limits.max_bytes / len(picture)))


def _reduce_colours(pixels: pymupdf.Pixmap) -> bytes:
    image = Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples)
    out = io.BytesIO()
    image.quantize(_PALETTE, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()
