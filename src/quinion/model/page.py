"""A page of a document: its text, how the text was read, and how sure we are of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Method(StrEnum):
    """How text was read; `MIXED` is said of documents only."""

    TEXT_LAYER = "text_layer"
    OCR = "ocr"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Page:
    """One page as read.

    `number` is 1-based. `confidence` is Tesseract's mean word confidence, 0 to 100, and
    None where no OCR was done or it found no word. `hidden` is how many characters of the text
    cannot be seen on the page.
    """

    number: int
    text: str
    method: Method
    confidence: float | None = None
    hidden: int = 0


def document_method(pages: Iterable[Page]) -> Method:
    """The one method that all pages share, else `MIXED`."""
    methods = {page.method for page in pages}
    return methods.pop() if len(methods) == 1 else Method.MIXED


def count_hidden_by_page(pages: Iterable[Page]) -> dict[int, int]:
    """How many characters cannot be seen, by the number of each page that has such."""
    return {page.number: page.hidden for page in pages if page.hidden}
