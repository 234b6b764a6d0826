"""Convert a file to Markdown, page by page, with its figures.

PyMuPDF4LLM finds headings, lists, tables, figures and the reading order, with PyMuPDF's layout
model. Scanned pages get a text layer first (`text_overlay`). A page on which OCR finds no reliable
text becomes a figure.

Limits: formulas are plain text, not LaTeX. Page headers and footers are separate fields, not part
of the Markdown. The process must import `pymupdf.layout` before it imports this module; see
`pdf/mupdf.py`.
"""
# PyMuPDF is marked as typed, but most of its functions have no annotations.
# mypy: allow-untyped-calls

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from quinion.errors import ExtractionFailed
from quinion.extract.document import OCR_TIMEOUT_S, Options
from quinion.extract.image import FORMATS, open_image
from quinion.extract.markdown.page_markdown import (
    DPI,
    POINTS_PER_INCH,
    MarkdownPage,
    convert,
    empty_page,
    page_as_figure,
)
from quinion.extract.markdown.scan_figures import FindPatches
from quinion.extract.ocr.page_reader import is_unreliable, read_page
from quinion.extract.ocr.raster import Raster, fit_scale
from quinion.extract.ocr.text_overlay import overlay_text, words_in_points
from quinion.extract.ocr.words import OcrResult
from quinion.extract.pdf.mupdf import DAMAGE, pymupdf
from quinion.extract.pdf.reader import open_pdf
from quinion.extract.scans.ink_ratio import BLANK_INK, ink_ratio
from quinion.extract.scans.scan_decision import has_layer

MAX_PIXELS = 20_000_000
"""Maximum size of the picture of a scanned page, from which figures are cropped."""
ALL_FORMATS = (*FORMATS, "WEBP", "GIF")

_HEAD = 1024
_PAGES_SURVEYED = 200

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MarkdownSurvey:
    """Facts about the document that the conversion of each page needs.

    `sizes` are the font sizes (in points) larger than that of the body text, largest first.
    """

    page_count: int
    sizes: tuple[int, ...]


def survey(path: Path, options: Options) -> MarkdownSurvey:
    """Count the pages and collect the font sizes of headings.

    Raises:
        ExtractionFailed: damaged, encrypted, or too large.
    """
    if not _is_pdf(path):
        with open_image(path, options.max_pixels, ALL_FORMATS) as file:
            return MarkdownSurvey(file.page_count, ())
    with open_pdf(path) as pdf:
        if pdf.page_count > options.max_pages:
            raise ExtractionFailed(
                f"{path.name} has {pdf.page_count:,} pages; at most {options.max_pages:,} are "
                "read. Split it."
            )
    with pymupdf.open(path, filetype="pdf") as document:
        return MarkdownSurvey(document.page_count, _heading_sizes(document))


def read_markdown(
    path: Path,
    first: int,
    last: int,
    sizes: Sequence[int],
    find_patches: FindPatches,
    options: Options,
) -> Iterator[MarkdownPage]:
    """Yield the pages from `first` to `last` (1-based, both included), one at a time.

    `find_patches` finds the figures of scanned pages, which the layout model does not detect.

    Raises:
        ToolMissing: a page needs OCR and Tesseract is not installed.
        ExtractionFailed: a page is damaged, or Tesseract failed.
    """
    if _is_pdf(path):
        yield from _read_pdf(path, first, last, sizes, find_patches, options)
        return
    with open_image(path, options.max_pixels, ALL_FORMATS) as file:
        for number in range(first, last + 1):
            raster = file.rasterize(number - 1, options.ocr_dpi, options.max_pixels)
            picture = file.picture(number - 1, MAX_PIXELS)
            yield _read_scan(number, raster, picture, find_patches, path.name)


def _read_pdf(
    path: Path,
    first: int,
    last: int,
    sizes: Sequence[int],
    find_patches: FindPatches,
    options: Options,
) -> Iterator[MarkdownPage]:
    with open_pdf(path) as pdf, pymupdf.open(path, filetype="pdf") as source:
        for number in range(first, last + 1):
            if has_layer(pdf.text(number - 1)) or not options.ocr:
                with _report_damage(path, number), pymupdf.open() as part:
                    # A document of one page, because PyMuPDF4LLM processes all pages each time.
                    part.insert_pdf(source, from_page=number - 1, to_page=number - 1)
                    page = convert(part, number, sizes)
                yield page
            else:
                raster = pdf.rasterize(number - 1, options.ocr_dpi, options.max_pixels)
                with _report_damage(path, number):
                    picture = _render(source[number - 1])
                yield _read_scan(number, raster, picture, find_patches, path.name)


def _render(page: pymupdf.Page) -> Image.Image:
    zoom = DPI / POINTS_PER_INCH
    zoom *= fit_scale(page.rect.width * zoom, page.rect.height * zoom, MAX_PIXELS)
    pixels = page.get_pixmap(matrix=pymupdf.Matrix(zoom, zoom), alpha=False)
    return Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples)


def _read_scan(
    number: int, raster: Raster, picture: Image.Image, find_patches: FindPatches, name: str
) -> MarkdownPage:
    if ink_ratio(raster.image) < BLANK_INK:
        with overlay_text(picture, OcrResult(()), raster) as document:
            return empty_page(document, number)
    try:
        result, upright = read_page(raster, OCR_TIMEOUT_S)
    except TimeoutError:
        _log.warning("%s, page %d: OCR took too long; the page is a figure", name, number)
        with overlay_text(picture, OcrResult(()), raster) as document:
            return page_as_figure(document, number)
    if upright is not raster:
        picture = picture.transpose(Image.Transpose.ROTATE_180)
    with overlay_text(picture, result, upright) as document:
        if is_unreliable(result):
            return page_as_figure(document, number)
        return convert(document, number, (), find_patches, words_in_points(result, upright))


def _heading_sizes(document: pymupdf.Document) -> tuple[int, ...]:
    """Collect the font sizes larger than the most frequent one, from pages evenly spread."""
    step = max(1, document.page_count // _PAGES_SURVEYED)
    letters: Counter[int] = Counter()
    for index in range(0, document.page_count, step):
        try:
            content = document[index].get_text("dict", flags=pymupdf.TEXTFLAGS_TEXT)
        except DAMAGE:
            continue  # reading the page reports the damage
        for block in content["blocks"]:
            for line in block.get("lines", ()):
                for span in line["spans"]:
                    letters[round(span["size"])] += len(span["text"].strip())
    if not letters:
        return ()
    [(body, _)] = letters.most_common(1)
    return tuple(sorted((size for size in letters if size > body), reverse=True))


def _is_pdf(path: Path) -> bool:
    with path.open("rb") as file:
        return b"%PDF" in file.read(_HEAD)


@contextmanager
def _report_damage(path: Path, number: int) -> Iterator[None]:
    try:
        yield
    except DAMAGE as cause:
        raise ExtractionFailed(
            f"Page {number} of {path.name} is damaged ({cause}). "
            "Get a fresh copy, or print it to a new PDF."
        ) from cause
