"""Read PDF files: text layer, image coverage and rasterized pages."""
# PyMuPDF is marked as typed, but most of its functions have no annotations.
# mypy: allow-untyped-calls

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from PIL import Image

from quinion.errors import ExtractionFailed
from quinion.extract.formats import Measured
from quinion.extract.invisible_text import (
    MAX_CHECKED_CHARACTERS,
    count_hidden,
    may_have_hidden_text,
)
from quinion.extract.ocr.raster import Raster, fit_scale
from quinion.extract.pdf.coverage import Box, bounding_box, cover_ratio
from quinion.extract.pdf.mupdf import DAMAGE, OUT_OF_MEMORY, pymupdf
from quinion.extract.pdf.words import read_words
from quinion.extract.scans.text_heuristics import has_running_text

_POINTS_PER_INCH = 72
# A filled path that covers this share of the page is its background.
_BACKGROUND = 0.95
# Many words that cover this share of a page are a ruled table, not the labels of a drawing. In the
# measured drawings they cover at most 0.033 of the page, in tables 0.05 or more.
_TABLE_COVER = 0.05
_TABLE_WORDS = 60
MAX_PAGE_CHARACTERS = 250_000
"""Maximum length of a page's text layer. The longest of 1,969 pages of real documents has 9,105
characters, so a longer one is treated as hostile."""

_log = logging.getLogger(__name__)


class PdfFile:
    """An open PDF."""

    def __init__(self, document: pymupdf.Document, path: Path) -> None:
        self._document = document
        self._path = path
        self.page_count: int = document.page_count
        self.metadata: dict[str, str | None] = document.metadata or {}

    def measure(self, index: int) -> Measured:
        """Measure a page.

        The image ratio counts images, and on a page without running text also line work, because a
        vector drawing may have no image at all.
        """
        with self.page(index) as page:
            content = page.get_textpage(flags=pymupdf.TEXTFLAGS_TEXT)
            text = self._within_limit(index, str(content.extractText()))
            hidden = 0
            if len(text) <= MAX_CHECKED_CHARACTERS and may_have_hidden_text(content.extractHTML()):
                hidden = count_hidden(page, content.extractDICT(), self._path.name)
            words = read_words(page, content, text, has_hidden=hidden > 0)
            is_running = has_running_text(text)
            if is_running and not page.get_images():
                return Measured(0.0, text, hidden, words)
            frame = _frame(page)
            # A separate pass, because in the one above an inline image would break its line.
            pictures = page.get_textpage(flags=pymupdf.TEXT_PRESERVE_IMAGES)
            boxes: list[Box] = [image["bbox"] for image in pictures.extractIMGINFO()]
            if not is_running:
                printed: list[Box] = [word[:4] for word in content.extractWORDS()]
                if len(printed) < _TABLE_WORDS or cover_ratio(printed, frame) < _TABLE_COVER:
                    boxes += _line_work(page, frame)
            return Measured(cover_ratio(boxes, frame), text, hidden, words)

    def text(self, index: int) -> str:
        """Return the text layer."""
        with self.page(index) as page:
            return self._within_limit(index, str(page.get_text("text")))

    def rasterize(self, index: int, dpi: int, max_pixels: int) -> Raster:
        """Render the page at this resolution, or lower if it would exceed `max_pixels`."""
        with self.page(index) as page:
            zoom = dpi / _POINTS_PER_INCH
            zoom *= fit_scale(page.rect.width * zoom, page.rect.height * zoom, max_pixels)
            pixels = page.get_pixmap(
                matrix=pymupdf.Matrix(zoom, zoom), colorspace=pymupdf.csGRAY, alpha=False
            )
            image = Image.frombytes("L", (pixels.width, pixels.height), pixels.samples_mv)
            return Raster(image, max(1, round(zoom * _POINTS_PER_INCH)))

    def _within_limit(self, index: int, text: str) -> str:
        if len(text) > MAX_PAGE_CHARACTERS:
            raise ExtractionFailed(
                f"Page {index + 1} of {self._path.name} has {len(text):,} characters; at most "
                f"{MAX_PAGE_CHARACTERS:,} are read of a page. Leave it out."
            )
        return text

    @contextmanager
    def page(self, index: int) -> Iterator[pymupdf.Page]:
        """Open a page, and convert PyMuPDF's errors."""
        try:
            yield self._document[index]
        except DAMAGE as cause:
            if str(cause).startswith(OUT_OF_MEMORY):
                raise MemoryError from cause
            raise ExtractionFailed(
                f"Page {index + 1} of {self._path.name} is damaged ({cause}). "
                "Get a fresh copy, or print it to a new PDF."
            ) from cause


@contextmanager
def open_pdf(path: Path) -> Iterator[PdfFile]:
    """Open a PDF.

    Raises:
        ExtractionFailed: damaged beyond repair, without pages, or password-protected.
    """
    try:
        document = pymupdf.open(path, filetype="pdf")
        page_count = document.page_count
    except DAMAGE as cause:
        raise ExtractionFailed(
            f"{path.name} is damaged and cannot be opened. Get a fresh copy."
        ) from cause
    with document:
        if document.needs_pass:
            raise ExtractionFailed(
                f"{path.name} is encrypted and needs a password. Save a copy without one."
            )
        if page_count == 0:
            raise ExtractionFailed(
                f"{path.name} is damaged: no page could be found in it. Get a fresh copy."
            )
        if document.is_repaired:
            _log.info("%s is damaged and was repaired; pages may be missing", path.name)
        yield PdfFile(document, path)


def open_pages(path: Path, max_pixels: int) -> AbstractContextManager[PdfFile]:
    """Open a PDF for `extract.formats`; pages are rendered within the limit of `rasterize`."""
    return open_pdf(path)


def _frame(page: pymupdf.Page) -> Box:
    # Boxes are in coordinates of the unrotated page, with the corner of its crop box as origin.
    return (0.0, 0.0, page.cropbox.width, page.cropbox.height)


def _line_work(page: pymupdf.Page, frame: Box) -> list[Box]:
    paths = [
        box
        for kind, box in page.get_bboxlog()
        if kind == "stroke-path"
        or (kind == "fill-path" and cover_ratio([box], frame) < _BACKGROUND)
    ]
    return [bounding_box(paths)] if paths else []
