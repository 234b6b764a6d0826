"""Page of a document: its text, the extraction method and the OCR confidence."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Method(StrEnum):
    """Extraction method of a text; `MIXED` is used for documents only."""

    TEXT_LAYER = "text_layer"
    OCR = "ocr"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Page:
    """One extracted page.

    `number` is 1-based. `confidence` is Tesseract's mean word confidence, 0 to 100, or `None`
    without OCR or without recognized words. `hidden` is the number of characters that are
    invisible on the page.
    """

    number: int
    text: str
    method: Method
    confidence: float | None = None
    hidden: int = 0


def document_method(pages: Iterable[Page]) -> Method:
    """The method that all pages share, or `MIXED`."""
    methods = {page.method for page in pages}
    return methods.pop() if len(methods) == 1 else Method.MIXED


def count_hidden_by_page(pages: Iterable[Page]) -> dict[int, int]:
    """Count invisible characters by page number, for pages that have some."""
    return {page.number: page.hidden for page in pages if page.hidden}
