"""Find the elements of a PDF or an image file: the entry point of this package.

All functions are blocking and run in element workers. Arguments and results are plain data, so they
can cross a process boundary. A range of pages can be assigned to each process.
"""
# PyMuPDF is marked as typed, but most of its functions have no annotations.
# mypy: allow-untyped-calls

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from quinion.elements.find import find_on_page, label_unlabelled
from quinion.elements.mupdf_layout import DAMAGE, pymupdf
from quinion.elements.page_layout import Style
from quinion.elements.scanned_page import ReadWords, read_scan
from quinion.elements.text_page import (
    count_rotated_letters,
    find_style,
    has_background,
    read_text_layer,
)
from quinion.errors import ExtractionFailed
from quinion.model.element import Box, Element

# A text layer with fewer characters does not count.
MIN_LAYER_CHARACTERS = 10
# A page with at least so many letters running up or down, and this share of all letters, is also
# analysed rotated.
MIN_ROTATED_LETTERS = 60
MIN_ROTATED_SHARE = 0.15


@dataclass(frozen=True, slots=True)
class PageElements:
    """The elements of one page, from top to bottom; `number` is 1-based."""

    number: int
    elements: tuple[Element, ...]


def find_elements(
    path: Path, first: int, last: int, read_words: ReadWords | None = None
) -> Iterator[PageElements]:
    """Yield the elements of the pages from `first` to `last` (1-based, both included).

    Without `read_words` (OCR), a page that is one image has no elements.

    Raises:
        ExtractionFailed: the file or a page is damaged; errors of `read_words` pass through.
    """
    with open_document(path) as document:
        style = find_style(document)
        for number in range(first, last + 1):
            with report_damage(path, number):
                elements = _find_on_page(document[number - 1], number, style, read_words)
            # Free MuPDF's cache of decoded images: it is useless for the next page, and grows.
            pymupdf.TOOLS.store_shrink(100)
            yield PageElements(number, elements)


@contextmanager
def open_document(path: Path) -> Iterator[pymupdf.Document]:
    """Open a PDF or an image file.

    Raises:
        ExtractionFailed: damaged, without pages, or password-protected.
    """
    try:
        document = pymupdf.open(path)
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
        yield document


@contextmanager
def report_damage(path: Path, number: int) -> Iterator[None]:
    """Convert PyMuPDF's errors to `ExtractionFailed` with the page number."""
    try:
        yield
    except DAMAGE as cause:
        raise ExtractionFailed(
            f"Page {number} of {path.name} is damaged ({cause}). "
            "Get a fresh copy, or print it to a new PDF."
        ) from cause


def _find_on_page(
    page: pymupdf.Page, number: int, style: Style, read_words: ReadWords | None
) -> tuple[Element, ...]:
    if page.rotation:
        page.remove_rotation()
    if len(page.get_text().strip()) < MIN_LAYER_CHARACTERS:
        if read_words is not None:
            return label_unlabelled(_find_scanned(page, number, read_words))
        if has_background(page):
            return ()
    found = find_on_page(read_text_layer(page, number, style))
    up, down = count_rotated_letters(page)
    letters = len("".join(page.get_text().split()))
    if max(up, down) >= max(MIN_ROTATED_LETTERS, MIN_ROTATED_SHARE * letters):
        found = _merge(found, _find_rotated(page, number, style, up > down))
    return label_unlabelled(found)


def _find_scanned(page: pymupdf.Page, number: int, read_words: ReadWords) -> list[Element]:
    layout = read_scan(page, number, read_words)
    scale = page.rect.width / layout.frame.width

    def scale_back(box: Box) -> Box:
        return Box(box.x0 * scale, box.y0 * scale, box.x1 * scale, box.y1 * scale)

    return [replace(element, box=scale_back(element.box)) for element in find_on_page(layout)]


def _find_rotated(page: pymupdf.Page, number: int, style: Style, is_up: bool) -> list[Element]:
    """Find elements with the page rotated so that rows running up (or down) are horizontal."""
    width, height = page.rect.width, page.rect.height
    page.set_rotation(90 if is_up else 270)
    page.remove_rotation()

    def turn_back(box: Box) -> Box:
        if is_up:
            return Box(box.y0, height - box.x1, box.y1, height - box.x0)
        return Box(width - box.y1, box.x0, width - box.y0, box.x1)

    return [
        replace(element, box=turn_back(element.box))
        for element in find_on_page(read_text_layer(page, number, style))
    ]


def _merge(upright: Sequence[Element], turned: Sequence[Element]) -> list[Element]:
    """Merge both lists, without unlabelled elements that the other list has too."""

    def is_seen(element: Element, others: Sequence[Element]) -> bool:
        return any(
            element.box.overlap(other.box) > 0.3 * min(element.box.area, other.box.area)
            for other in others
        )

    named = [element for element in turned if element.label]
    kept = [element for element in upright if element.label or not is_seen(element, named)]
    added = [element for element in turned if element.label or not is_seen(element, kept)]
    both = kept + [element for element in added if element not in kept]
    return sorted(both, key=lambda element: (element.box.y0, element.box.x0))
