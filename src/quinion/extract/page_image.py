"""Render pages and parts of pages as PNGs, readable and small enough to send.

Marks are drawn as with a highlighter: multiplied with the page, so that the text under them stays
black. A picture over the limit first loses colours, which is hardly visible in drawings and text,
and then resolution.
"""
# PyMuPDF is marked as typed, but most of its functions have no annotations.
# mypy: allow-untyped-calls

import io
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageChops, ImageDraw

from quinion.errors import InvalidInput
from quinion.extract.formats import PDF, recognize
from quinion.extract.image import open_image
from quinion.extract.pdf.mupdf import pymupdf
from quinion.extract.pdf.reader import open_pdf
from quinion.model import element
from quinion.model.page import Box

_POINTS_PER_INCH = 72
# The margin around a part of a page, in points.
MARGIN = 4.0
_PALETTE = 256
_MIN_SCALE = 0.1
_MAX_IMAGE_PIXELS = 150_000_000
HIGHLIGHT = (255, 232, 100)
"""Colour of marks."""
HIDDEN_OUTLINE = (200, 30, 30)
"""Colour of the outline of words that cannot be seen on the page."""
_PADDING = 0.0015
"""Space around a mark, as a share of the page."""


@dataclass(frozen=True, slots=True)
class PictureLimits:
    """The target resolution and the limits of a picture.

    The defaults keep a reply under 1 MiB with the picture in Base64.
    """

    dpi: int = 200
    max_side: int = 2_000
    max_bytes: int = 740_000


@dataclass(frozen=True, slots=True)
class Marks:
    """Marks on a page, as fractions of it: highlighted text, and outlines of invisible words."""

    boxes: Sequence[Box] = ()
    hidden: Sequence[Box] = ()


def render_page(
    path: Path,
    page: int,
    *,
    extension: str = "",
    box: element.Box | None = None,
    clip: Box | None = None,
    marks: Marks | None = None,
    limits: PictureLimits | None = None,
) -> bytes:
    """Render a page (1-based), or a part of it, as a PNG.

    The part is a `box` in points, which gets a margin, or a `clip` in fractions of the page.

    Raises:
        InvalidInput: the document has no such page, or the part is outside of it.
        ExtractionFailed: the file or the page is damaged.
    """
    limits = limits or PictureLimits()
    with _open(path, page, extension) as paper:
        part = (0.0, 0.0, 1.0, 1.0) if clip is None else clip
        if box is not None:
            wide = box.grow(MARGIN)
            part = (
                wide.x0 / paper.width,
                wide.y0 / paper.height,
                wide.x1 / paper.width,
                wide.y1 / paper.height,
            )
        left, top, right, bottom = (min(1.0, max(0.0, side)) for side in part)
        if left >= right or top >= bottom:
            raise InvalidInput(f"The box {box or clip} is outside of page {page}.")
        return _fit(paper, (left, top, right, bottom), marks or Marks(), limits)


@dataclass(frozen=True, slots=True)
class _Paper:
    """An open page: its displayed size in points, and how a part of it is drawn at a scale."""

    width: float
    height: float
    draw: Callable[[Box, float], Image.Image]


@contextmanager
def _open(path: Path, number: int, extension: str) -> Iterator[_Paper]:
    if recognize(path, extension) is not PDF:
        with open_image(path, _MAX_IMAGE_PIXELS) as image:
            _check_number(path, number, image.page_count)
            picture = image.picture(number - 1, _MAX_IMAGE_PIXELS)
            # An image is drawn at its own pixels at most: as if it had the target resolution.
            yield _Paper(
                picture.width, picture.height, lambda part, scale: _cut(picture, part, scale)
            )
        return
    with open_pdf(path) as file:
        _check_number(path, number, file.page_count)
        with file.page(number - 1) as page:
            size = page.rect.width, page.rect.height
            yield _Paper(*size, lambda part, scale: _draw(page, part, scale))


def _check_number(path: Path, number: int, page_count: int) -> None:
    if not 1 <= number <= page_count:
        raise InvalidInput(f"{path.name} has pages 1 to {page_count}; there is no page {number}.")


def _draw(page: pymupdf.Page, part: Box, scale: float) -> Image.Image:
    width, height = page.rect.width, page.rect.height
    clip = pymupdf.Rect(part[0] * width, part[1] * height, part[2] * width, part[3] * height)
    pixels = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), clip=clip, alpha=False)
    return Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples_mv)


def _cut(picture: Image.Image, part: Box, scale: float) -> Image.Image:
    left, right = (round(side * picture.width) for side in (part[0], part[2]))
    top, bottom = (round(side * picture.height) for side in (part[1], part[3]))
    cut = picture.crop((left, top, max(right, left + 1), max(bottom, top + 1)))
    if scale < 1.0:
        cut = cut.resize((max(1, round(cut.width * scale)), max(1, round(cut.height * scale))))
    return cut


def _fit(paper: _Paper, part: Box, marks: Marks, limits: PictureLimits) -> bytes:
    longest = max((part[2] - part[0]) * paper.width, (part[3] - part[1]) * paper.height)
    scale = min(limits.dpi / _POINTS_PER_INCH, limits.max_side / longest)
    while True:
        image = paper.draw(part, scale)
        _highlight(image, part, marks)
        picture = _encode(image)
        if len(picture) > limits.max_bytes:
            picture = _encode(image.quantize(_PALETTE, dither=Image.Dither.NONE), optimize=True)
        if len(picture) <= limits.max_bytes or scale < _MIN_SCALE * limits.max_side / longest:
            return picture
        scale *= min(0.9, math.sqrt(limits.max_bytes / len(picture)))


def _encode(image: Image.Image, *, optimize: bool = False) -> bytes:
    out = io.BytesIO()
    # The fastest level: higher ones take half as long again for the same size.
    image.save(out, "PNG", optimize=optimize, compress_level=1)
    return out.getvalue()


def _highlight(image: Image.Image, part: Box, marks: Marks) -> None:
    places = list(_places(image, part, marks.boxes))
    if places:
        left, top, right, bottom = zip(*places, strict=True)
        area = min(left), min(top), max(right), max(bottom)
        ink = Image.new("RGB", (area[2] - area[0], area[3] - area[1]), "white")
        for place in places:  # drawn before they are multiplied, because boxes may overlap
            ink.paste(
                HIGHLIGHT,
                (place[0] - area[0], place[1] - area[1], place[2] - area[0], place[3] - area[1]),
            )
        image.paste(ImageChops.multiply(image.crop(area), ink), area)
    pen = ImageDraw.Draw(image)
    for place in _places(image, part, marks.hidden):
        pen.rectangle(place, outline=HIDDEN_OUTLINE, width=2)


def _places(
    image: Image.Image, part: Box, boxes: Sequence[Box]
) -> Iterator[tuple[int, int, int, int]]:
    """Convert boxes on the page to pixels of an image of a part of it."""
    wide, high = part[2] - part[0], part[3] - part[1]
    for box in boxes:
        place = (
            max(0, math.floor((box[0] - _PADDING - part[0]) / wide * image.width)),
            max(0, math.floor((box[1] - part[1]) / high * image.height)),
            min(image.width, math.ceil((box[2] + _PADDING - part[0]) / wide * image.width)),
            min(image.height, math.ceil((box[3] - part[1]) / high * image.height)),
        )
        if place[0] < place[2] and place[1] < place[3]:
            yield place
