"""Build the layout of a scanned page: rows from OCR, then as for a page with a text layer.

The words of OCR are added as invisible text to a picture of the page. The same layout model and
table finder as for any other page process the result.
"""
# PyMuPDF is marked as typed, but most of its functions have no annotations.
# mypy: allow-untyped-calls

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from PIL import Image

from quinion.elements.ink_patches import SCAN_CONTRAST, find_patches
from quinion.elements.mupdf_layout import pymupdf
from quinion.elements.page_layout import PageLayout, TextRow, bounding_box
from quinion.elements.text_page import (
    MAX_SIDE,
    math_share,
    read_grids,
    read_regions,
    render_grey,
    to_box,
)
from quinion.model.element import Box

_POINTS_PER_INCH = 72
# Scans are read at their own resolution, within these limits. Below 200 dpi Tesseract reads 3 as 8
# in the numbers of equations.
_DPI = (200, 300)
# Resolution for the layout model and the table finder.
_MODEL_DPI = 100
# An A2 page at the upper limit of resolution.
_MAX_PIXELS = 35_000_000
# A row with a lower mean confidence is more likely part of a picture.
MIN_CONFIDENCE = 40.0
# The average ratio of font size to the height of a word's box.
_SIZE = 1.1
# A wider gap than this, relative to the font size, splits a row.
_MAX_GAP = 2.5
# Words of at least so many letters are wider than high, unless they run up or down the page.
_MIN_LETTERS = 3
_A4_HEIGHT = 842
_MISREAD_FIGURE = re.compile(r"^F[il1][cgqe6]u[rn][ecob]", re.IGNORECASE)
_FONT = pymupdf.Font("helv")


@dataclass(frozen=True, slots=True)
class ScannedWord:
    """A word from OCR. Its box is in pixels; words of one row have the same `line`."""

    text: str
    box: tuple[float, float, float, float]
    line: tuple[int, ...]
    confidence: float


ReadWords = Callable[[Image.Image, int], Sequence[ScannedWord]]
"""OCR function: takes a grey picture and its resolution, returns its words in reading order."""


def read_scan(page: pymupdf.Page, number: int, read_words: ReadWords) -> PageLayout:
    """Build the layout of a scanned page, scaled down to A4; the page must not be rotated.

    The scaling makes distances in points comparable: image files often state a wrong size.
    """
    if max(page.rect.width, page.rect.height) > MAX_SIDE:
        return PageLayout(number, to_box(page.rect), ())
    scale = min(1.0, _A4_HEIGHT / max(page.rect.width, page.rect.height))
    frame = to_box([side * scale for side in page.rect])
    grey = render_grey(page, scale)
    if not find_patches(grey, (), contrast=SCAN_CONTRAST):
        return PageLayout(number, frame, ())
    words = _read_words(page, scale, read_words)
    with _overlay_text(page, frame, words) as copy:
        regions, grids = read_regions(copy[0]), read_grids(copy[0])
    letters = [Box(*word.box) for word in words]
    pictures = find_patches(grey, letters, contrast=SCAN_CONTRAST)
    rows = _to_rows(words)
    return PageLayout(number, frame, rows, regions, tuple(pictures), grids, from_ocr=True)


def _read_words(page: pymupdf.Page, scale: float, read_words: ReadWords) -> list[ScannedWord]:
    dpi = _choose_dpi(page)
    pixels = page.get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY, alpha=False)
    image = Image.frombytes("L", (pixels.width, pixels.height), pixels.samples_mv)
    factor = scale * _POINTS_PER_INCH / dpi
    words = []
    for _, group in groupby(read_words(image, dpi), key=lambda word: word.line):
        row = list(group)
        if sum(word.confidence for word in row) < MIN_CONFIDENCE * len(row):
            continue
        for word in row:
            x0, y0, x1, y1 = (side * factor for side in word.box)
            if len(word.text) < _MIN_LETTERS or y1 - y0 < x1 - x0:
                words.append(replace(word, text=_correct(word.text), box=(x0, y0, x1, y1)))
    return words


def _choose_dpi(page: pymupdf.Page) -> int:
    own = [
        image["width"] * _POINTS_PER_INCH / (image["bbox"][2] - image["bbox"][0])
        for image in page.get_image_info()
        if image["bbox"][2] - image["bbox"][0] > page.rect.width / 2
    ]
    dpi = min(max(own, default=_DPI[1]), _DPI[1])
    inches = page.rect.width * page.rect.height / _POINTS_PER_INCH**2
    return round(min(max(dpi, _DPI[0]), math.sqrt(_MAX_PIXELS / inches)))


def _correct(text: str) -> str:
    """Correct the word `Figure`: OCR reads small capitals as `Ficure` and similar."""
    return _MISREAD_FIGURE.sub(lambda match: "FIGURE" if match[0].isupper() else "Figure", text)


def _to_rows(words: Sequence[ScannedWord]) -> tuple[TextRow, ...]:
    """Group words to rows, split at wide gaps, for example before an equation's number."""
    rows = []
    for line, group in groupby(words, key=lambda word: word.line):
        parts = list(group)
        heights = sorted(word.box[3] - word.box[1] for word in parts)
        size = heights[len(heights) // 2] * _SIZE
        piece: list[ScannedWord] = []
        for word in parts:
            if piece and word.box[0] - piece[-1].box[2] > _MAX_GAP * size:
                rows.append(_to_row(piece, size, line[0]))
                piece = []
            piece.append(word)
        rows.append(_to_row(piece, size, line[0]))
    return tuple(rows)


def _to_row(words: Sequence[ScannedWord], size: float, block: int) -> TextRow:
    box = bounding_box(Box(*word.box) for word in words)
    text = " ".join(word.text for word in words)
    rounded = to_box((box.x0, box.y0, box.x1, box.y1))
    return TextRow(text, rounded, size, block=block, math=math_share(text))


def _overlay_text(page: pymupdf.Page, frame: Box, words: Sequence[ScannedWord]) -> pymupdf.Document:
    """Create a document of one page: a picture of this page with the words as invisible text."""
    copy = pymupdf.open()
    target = copy.new_page(width=frame.width, height=frame.height)
    pixels = page.get_pixmap(dpi=_MODEL_DPI, colorspace=pymupdf.csGRAY, alpha=False)
    target.insert_image(target.rect, pixmap=pixels)
    writer = pymupdf.TextWriter(target.rect)
    for word in words:
        x0, y0, x1, y1 = word.box
        size = max(2.0, (y1 - y0) * _SIZE)
        natural = _FONT.text_length(word.text, size)
        if natural > 0:
            # Scaled to the width of the word: columns are detected from where words start and end.
            size *= (x1 - x0) / natural
            writer.append((x0, y1), word.text, font=_FONT, fontsize=size)
    writer.write_text(target, render_mode=3)
    return copy
