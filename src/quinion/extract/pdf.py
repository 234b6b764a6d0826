"""PDF files: the text layer, what covers the pages, and pages as pixels."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from quinion.errors import ExtractionFailed
from quinion.extract.cover import Box, cover_ratio, span
from quinion.extract.mupdf import pymupdf
from quinion.extract.prose import has_running_text
from quinion.extract.raster import Raster, fit_scale

_POINTS_PER_INCH = 72


class PdfFile:
    """An open PDF."""

    def __init__(self, document: pymupdf.Document, path: Path, max_pixels: int) -> None:
        self._document = document
        self._path = path
        self._max_pixels = max_pixels
        self.page_count: int = document.page_count

    def image_ratio(self, index: int) -> float:
        """The part of the page that pictures cover: images, and line work if no text runs."""
        with self._page(index) as page:
            # One pass over the page gives text and images.
            flags = pymupdf.TEXTFLAGS_TEXT | pymupdf.TEXT_PRESERVE_IMAGES
            content = page.get_textpage(flags=flags)
            boxes: list[Box] = [image["bbox"] for image in content.extractIMGINFO()]
            if not has_running_text(content.extractText()):
                boxes += _line_work(page)
            return cover_ratio(boxes, _frame(page))

    def text(self, index: int) -> str:
        """The text layer."""
        with self._page(index) as page:
            return str(page.get_text("text"))

    def rasterize(self, index: int, dpi: int) -> Raster:
        """The page at this resolution, or less where it would have too many pixels."""
        with self._page(index) as page:
            zoom = dpi / _POINTS_PER_INCH
            zoom *= fit_scale(page.rect.width * zoom, page.rect.height * zoom, self._max_pixels)
            pixels = page.get_pixmap(
                matrix=pymupdf.Matrix(zoom, zoom), colorspace=pymupdf.csGRAY, alpha=False
            )
            image = Image.frombytes("L", (pixels.width, pixels.height), pixels.samples)
            return Raster(image, max(1, round(zoom * _POINTS_PER_INCH)))

    @contextmanager
    def _page(self, index: int) -> Iterator[pymupdf.Page]:
        try:
            yield self._document[index]
        except (RuntimeError, ValueError, IndexError) as cause:  # MuPDF's errors are the first
            raise ExtractionFailed(
                f"Page {index + 1} of {self._path.name} is damaged ({cause}). "
                "Get a fresh copy, or print it to a new PDF."
            ) from cause


@contextmanager
def open_pdf(path: Path, max_pixels: int) -> Iterator[PdfFile]:
    """Open a PDF.

    Raises:
        ExtractionFailed: damaged beyond repair, without pages, or locked by a password.
    """
    try:
        document = pymupdf.open(path, filetype="pdf")
    except (RuntimeError, ValueError) as cause:
        raise ExtractionFailed(
            f"{path.name} is damaged and cannot be opened. Get a fresh copy."
        ) from cause
    with document:
        if document.needs_pass:
            raise ExtractionFailed(
                f"{path.name} is encrypted and needs a password. Save a copy without one."
            )
        if document.page_count == 0:
            raise ExtractionFailed(f"{path.name} is damaged: no page is left. Get a fresh copy.")
        yield PdfFile(document, path, max_pixels)


def _frame(page: pymupdf.Page) -> Box:
    # Boxes come in the coordinates of the page before it is rotated, and start at the corner
    # of the crop box.
    return (0.0, 0.0, page.cropbox.width, page.cropbox.height)


def _line_work(page: pymupdf.Page) -> list[Box]:
    around = span(box for kind, box in page.get_bboxlog() if kind.endswith("path"))
    return [around] if around else []
