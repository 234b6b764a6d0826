"""Add a text layer to a scanned page: its picture with the words of OCR as invisible text.

The detection of headings, tables and columns uses the position and size of text. OCR returns both,
so the same code handles scans.
"""
# PyMuPDF is marked as typed, but most of its functions have no annotations.
# mypy: allow-untyped-calls

import io
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from statistics import median

from PIL import Image

from quinion.extract.ocr.raster import Raster
from quinion.extract.ocr.words import OcrResult, Word
from quinion.extract.pdf.coverage import Box
from quinion.extract.pdf.mupdf import pymupdf

POINTS_PER_INCH = 72
# The usual resolution of scanners, for files that do not state one.
LIKELY_DPI = 200
# Font size relative to the height of a word's box, which often lacks ascenders or descenders.
_SIZE_OF_HEIGHT = 1.15
_MIN_FONT_SIZE = 4.0
# Words with a wider gap than this, relative to their size, are in different cells or columns.
_MAX_GAP = 1.0
_FONT = "ocr-"
# The second font, a hundred times as large, is for text with letters that the first lacks.
_LATIN, _OTHERS = "helv", "cjk"
_LATIN_FONT = pymupdf.Font(_LATIN)
_INVISIBLE = 3
_QUALITY = 85


def overlay_text(picture: Image.Image, result: OcrResult, raster: Raster) -> pymupdf.Document:
    """Create a document of one page: the picture with the words that OCR read on the raster.

    Picture and raster are both upright; they may differ in resolution.
    """
    zoom = POINTS_PER_INCH / (raster.dpi or LIKELY_DPI)
    document = pymupdf.open()
    width, height = (side * zoom for side in raster.image.size)
    page = document.new_page(width=width, height=height)
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=_QUALITY)
    page.insert_image(page.rect, stream=stream.getvalue())
    fonts: dict[str, pymupdf.Font] = {}
    for line in _lines(result):
        for run in _split_at_gaps(line):
            name = _choose_font(run)
            if name not in fonts:
                fonts[name] = pymupdf.Font(name)
                page.insert_font(fontname=_FONT + name, fontbuffer=fonts[name].buffer)
            _write(page, name, fonts[name], run, zoom)
    return document


def words_in_points(result: OcrResult, raster: Raster) -> Iterator[tuple[Box, str]]:
    """Yield the words with their boxes in points of the page that `overlay_text` creates."""
    zoom = POINTS_PER_INCH / (raster.dpi or LIKELY_DPI)
    for word in result.words:
        left, top, right, bottom = (side * zoom for side in word.box)
        yield (left, top, right, bottom), word.text


def _lines(result: OcrResult) -> Iterator[list[Word]]:
    for _, words in groupby(result.words, key=lambda word: word.line):
        yield list(words)


def _split_at_gaps(line: Sequence[Word]) -> Iterator[list[Word]]:
    """Split the words of a line at wide gaps."""
    max_gap = _MAX_GAP * _height(line)
    run = [line[0]]
    for before, word in pairwise(line):
        if word.box[0] - before.box[2] > max_gap:
            yield run
            run = []
        run.append(word)
    yield run


def _height(words: Sequence[Word]) -> float:
    return median(word.box[3] - word.box[1] for word in words)


def _choose_font(run: Sequence[Word]) -> str:
    letters = {letter for word in run for letter in word.text}
    return _LATIN if all(_LATIN_FONT.has_glyph(ord(letter)) for letter in letters) else _OTHERS


def _write(
    page: pymupdf.Page, name: str, font: pymupdf.Font, run: Sequence[Word], zoom: float
) -> None:
    text = " ".join(word.text for word in run)
    size = max(_MIN_FONT_SIZE, _height(run) * zoom * _SIZE_OF_HEIGHT)
    start = pymupdf.Point(run[0].box[0], median(word.box[3] for word in run)) * zoom
    width = (run[-1].box[2] - run[0].box[0]) * zoom
    stretch = width / (font.text_length(text, fontsize=size) or 1.0)
    page.insert_text(
        start,
        text,
        fontname=_FONT + name,
        fontsize=size,
        render_mode=_INVISIBLE,
        morph=(start, pymupdf.Matrix(stretch or 1.0, 1)),
    )
