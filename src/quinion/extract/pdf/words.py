"""Words of a PDF page with their boxes, in the order of its text layer.

PyMuPDF's words are used where they have the same letters as the text, as on nearly all pages. Other
pages, and pages with invisible text, are read letter by letter, which takes six times as long.
"""
# PyMuPDF is marked as typed, but most of its functions have no annotations.
# mypy: allow-untyped-calls

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from quinion.extract.invisible_text import find_hidden_spans
from quinion.extract.pdf.coverage import Box, bounding_box
from quinion.extract.pdf.mupdf import pymupdf
from quinion.model.page import Word, encode_words, without_spaces

_Span = Mapping[str, Any]


def read_words(
    page: pymupdf.Page, content: pymupdf.TextPage, text: str, *, has_hidden: bool
) -> bytes:
    """Return the words of a text page, encoded; nothing if they do not agree with its text."""
    letters = without_spaces(text)
    place = _to_fractions(page)
    words: list[Word] = []
    if not has_hidden:
        words = list(_read_fast(content, place))
    if has_hidden or not _agree(words, letters):
        words = list(_read_letters(page, content, place))
    size = page.rect.width, page.rect.height
    return encode_words(words, size) if _agree(words, letters) else b""


def _agree(words: Sequence[Word], letters: str) -> bool:
    return "".join(word.text for word in words) == letters


def _read_fast(content: pymupdf.TextPage, place: Callable[[Box], Box]) -> Iterator[Word]:
    line = None
    for x0, y0, x1, y1, text, block, number, _ in content.extractWORDS():
        if plain := without_spaces(text):
            yield Word(plain, place((x0, y0, x1, y1)), starts_line=line != (block, number))
            line = block, number


def _read_letters(
    page: pymupdf.Page, content: pymupdf.TextPage, place: Callable[[Box], Box]
) -> Iterator[Word]:
    blocks = content.extractRAWDICT()["blocks"]
    spans = [
        {**span, "text": "".join(letter["c"] for letter in span["chars"])}
        for block in blocks
        for line in block.get("lines", ())
        for span in line["spans"]
    ]
    hidden = set(map(id, find_hidden_spans(page, spans)))
    remaining = iter(spans)
    for block in blocks:
        for line in block.get("lines", ()):
            starts_line = True
            for is_hidden, word in _words(
                (id(span) in hidden, span)
                for _, span in zip(line["spans"], remaining, strict=False)
            ):
                text = without_spaces("".join(letter["c"] for letter in word))
                box = bounding_box([letter["bbox"] for letter in word])
                yield Word(text, place(box), starts_line=starts_line, hidden=is_hidden)
                starts_line = False


def _words(spans: Iterable[tuple[bool, _Span]]) -> Iterator[tuple[bool, list[Any]]]:
    """Split the letters of a line at white space, and where visible and hidden text meet."""
    letters = ((is_hidden, letter) for is_hidden, span in spans for letter in span["chars"])
    for (is_hidden, is_blank), run in groupby(
        letters, key=lambda one: (one[0], one[1]["c"].isspace())
    ):
        if not is_blank:
            yield is_hidden, [letter for _, letter in run]


def _to_fractions(page: pymupdf.Page) -> Callable[[Box], Box]:
    """Map boxes of the unrotated page to fractions of the displayed page."""
    turn, width, height = page.rotation_matrix, page.rect.width, page.rect.height
    if not page.rotation:
        return lambda box: (box[0] / width, box[1] / height, box[2] / width, box[3] / height)

    def place(box: Box) -> Box:
        shown = pymupdf.Rect(box) * turn
        return shown.x0 / width, shown.y0 / height, shown.x1 / width, shown.y1 / height

    return place
