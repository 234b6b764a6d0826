"""Read the pages of a PDF or an image file: the entry point of extraction.

All functions are blocking and run in worker processes. Arguments and results are plain data, so
they can cross a process boundary. A range of pages can be assigned to each process.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from quinion.errors import ExtractionFailed
from quinion.extract.formats import PageFile, recognize
from quinion.extract.ocr.page_reader import place_words, read_page
from quinion.extract.ocr.words import mean_confidence
from quinion.extract.scans import scan_probe
from quinion.extract.scans.scan_decision import Inspection, PageKind, has_layer
from quinion.extract.scans.text_heuristics import has_running_text
from quinion.model.page import LOW_CONFIDENCE, Method, Page, encode_words, words_to_text

# Timeout for all OCR runs of a page. A dense A4 page takes 2 to 7 s of a busy core. An A0 map may
# take longer than this, but it is a picture anyway.
OCR_TIMEOUT_S = 45.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """Settings for OCR, and limits on the size of a file.

    `extension` overrides the extension of the file's name, for a symbolic link for example.
    """

    ocr: bool = True
    ocr_dpi: int = 300
    max_pages: int = 5_000
    max_pixels: int = 150_000_000
    extension: str = ""


def inspect(path: Path, options: Options) -> Inspection:
    """Count and measure the pages without decoding pixels.

    Raises:
        FileMissing, UnsupportedFile: the file does not exist, or its type is not supported.
        ExtractionFailed: damaged, encrypted, too large, or of another type than its extension.
    """
    ratios = tuple(page.image_ratio for page in survey(path, 1, options.max_pages, options))
    return Inspection(len(ratios), ratios)


@dataclass(frozen=True, slots=True)
class SurveyedPage:
    """Measurements of a page, taken before OCR.

    `image_ratio` is the share of the page that pictures cover. `text` is its text layer, `hidden`
    the number of invisible characters in it, and `words` are as in `Page`.
    """

    number: int
    page_count: int
    image_ratio: float
    text: str
    hidden: int
    words: str


def survey(path: Path, first: int, last: int, options: Options) -> Iterator[SurveyedPage]:
    """Measure the pages from `first` to `last` (1-based) without decoding pixels.

    A `last` beyond the end of the document is allowed.

    Raises:
        FileMissing, UnsupportedFile, ExtractionFailed: see `inspect`.
    """
    with _open(path, options) as file:
        for number in range(first, min(last, file.page_count) + 1):
            found = file.measure(number - 1)
            yield SurveyedPage(
                number,
                file.page_count,
                found.image_ratio,
                found.text,
                found.hidden,
                words_to_text(found.words),
            )


def probe(path: Path, page_numbers: Sequence[int], options: Options) -> tuple[PageKind, ...]:
    """Classify these pages (1-based) by their text layer, or else by a quick OCR run.

    Raises:
        ToolMissing: Tesseract is not installed.
        ExtractionFailed: a page is damaged, or Tesseract failed.
    """
    with _open(path, options) as file:
        return tuple(_probe_page(file, number - 1) for number in page_numbers)


def read_pages(path: Path, first: int, last: int, options: Options) -> Iterator[Page]:
    """Yield the pages from `first` to `last` (1-based, both included), one at a time.

    When OCR of a page times out, the page is left empty and a warning is logged, so that one page
    does not fail the document. Hidden text is not searched for here.

    Raises:
        ToolMissing: a page needs OCR and Tesseract is not installed.
        ExtractionFailed: a page is damaged, or Tesseract failed.
    """
    with _open(path, options) as file:
        for number in range(first, last + 1):
            yield _read_page(file, number, path.name, options)


@dataclass(frozen=True, slots=True)
class FoundWords:
    """The words of a page with their boxes, as in `Page`, and the number of pages."""

    words: str
    page_count: int


def read_words(path: Path, number: int, options: Options) -> FoundWords:
    """Find the words of one page (1-based); none if it has no such page.

    Raises:
        FileMissing, UnsupportedFile, ExtractionFailed, ToolMissing: see `read_pages`.
    """
    with _open(path, options) as file:
        if not 1 <= number <= file.page_count:
            return FoundWords("", file.page_count)
        found = file.measure(number - 1)
        if has_layer(found.text) or not options.ocr:
            return FoundWords(words_to_text(found.words), file.page_count)
        return FoundWords(_read_page(file, number, path.name, options).words, file.page_count)


@contextmanager
def _open(path: Path, options: Options) -> Iterator[PageFile]:
    format = recognize(path, options.extension)
    with format.open_pages(path, options.max_pixels) as file:
        if file.page_count > options.max_pages:
            raise ExtractionFailed(
                f"{path.name} has {file.page_count:,} pages; at most {options.max_pages:,} are "
                "read. Split it."
            )
        yield file


def _probe_page(file: PageFile, index: int) -> PageKind:
    if has_running_text(file.text(index)):
        return PageKind.TEXT
    return scan_probe.classify(file.rasterize(index, scan_probe.DPI, scan_probe.MAX_PIXELS))


def _read_page(file: PageFile, number: int, name: str, options: Options) -> Page:
    text = file.text(number - 1)
    if has_layer(text) or not options.ocr:
        return Page(number, text, Method.TEXT_LAYER)
    raster = file.rasterize(number - 1, options.ocr_dpi, options.max_pixels)
    try:
        result, upright = read_page(raster, OCR_TIMEOUT_S)
    except TimeoutError:
        _log.warning(
            "%s, page %d: OCR took more than %.0f s; the page is left empty. "
            "Scan it again at a lower resolution",
            name,
            number,
            OCR_TIMEOUT_S,
        )
        return Page(number, "", Method.OCR)
    if result.confidence is not None and result.confidence < LOW_CONFIDENCE:
        _log.warning("%s, page %d: OCR confidence is only %.0f", name, number, result.confidence)
    if result.left_out:
        _log.warning(
            "%s, page %d: OCR confidence is only %.0f for %d words, which are left out. "
            "Scan it again at a higher resolution",
            name,
            number,
            mean_confidence(result.left_out),
            len(result.left_out),
        )
    words = encode_words(
        place_words(result, upright, upside_down=upright is not raster), raster.size_in_points
    )
    return Page(
        number,
        result.text,
        Method.OCR,
        result.confidence,
        words=words_to_text(words),
        engine=result.engine,
    )
