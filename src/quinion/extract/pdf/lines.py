"""Read pages with their lines, each with its box, font size and weight.

PyMuPDF's lines are fragments: a paragraph's number, its first words and a superscript footnote
mark may be three lines. Consecutive fragments that stand side by side are joined here to one row,
from left to right, in the coordinates of the displayed page. Apart from that, and from white space,
the rows of a page equal the output of `page.get_text("text")`.
"""
# PyMuPDF is marked as typed, but most of its functions have no annotations.
# mypy: allow-untyped-calls

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from quinion.errors import ExtractionFailed
from quinion.extract.document import Options, read_pages
from quinion.extract.formats import PDF, recognize
from quinion.extract.invisible_text import MAX_CHECKED_CHARACTERS, Content, count_hidden
from quinion.extract.pdf.mupdf import DAMAGE, pymupdf
from quinion.extract.pdf.scanned_lines import read_scanned_lines
from quinion.extract.pdf.words import read_words
from quinion.model.line import Box, Line, LinedPage, Place, lines_of_text
from quinion.model.page import Method, Page, without_spaces, words_to_text

# Two pieces are in one row when their vertical overlap exceeds this share of the smaller height.
_SHARED_HEIGHT = 0.5
# Pieces closer than this, in points, are parts of one word.
_MIN_SPACE = 1.0
# Pieces in one row may overlap by this, in points: italics and superscripts do.
_MAX_OVERLAP = 2.0
# Text with a steeper slope than this runs up or down the page.
_MAX_SLOPE = 0.1
# A footnote's number has two thirds of the note's font size, and at most four fifths.
_MARK_SIZE_RATIO = 0.8

_BOLD = 1 << 4
_RAISED = 1 << 0
_BOLD_NAMES = ("bold", "black", "heavy", "semibold", "demi")

_Span = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Piece:
    box: Box
    spans: tuple[_Span, ...]
    is_level: bool
    start: int

    @property
    def place(self) -> Place:
        return self.start, self.start + len(without_spaces(self.text))

    @property
    def text(self) -> str:
        return " ".join("".join(span["text"] for span in self.spans).split())


def read_lined_pages(path: Path, first: int, last: int, options: Options) -> Iterator[LinedPage]:
    """Yield the pages from `first` to `last` (1-based, both included), one at a time.

    Lines of an image file have no boxes.

    Raises:
        ToolMissing: a page needs OCR and Tesseract is not installed.
        ExtractionFailed: a page is damaged, or Tesseract failed.
    """
    is_pdf = recognize(path, options.extension) is PDF
    with ExitStack() as stack:
        document: pymupdf.Document | None = None
        # `read_pages` opens the file first, because its errors are more specific.
        for page in read_pages(path, first, last, options):
            if not is_pdf:
                yield LinedPage(page, lines_of_text(page))
                continue
            if document is None:
                document = stack.enter_context(_open(path))
            if page.method is Method.TEXT_LAYER:
                yield _read_layer(document, page, path.name)
            else:
                yield _read_scan(document, page)


def _open(path: Path) -> pymupdf.Document:
    try:
        return pymupdf.open(path, filetype="pdf")
    except DAMAGE as cause:
        raise ExtractionFailed(
            f"{path.name} is damaged and cannot be opened. Get a fresh copy."
        ) from cause


def _read_layer(document: pymupdf.Document, read: Page, name: str) -> LinedPage:
    number = read.number
    try:
        page = document[number - 1]
        textpage = page.get_textpage(flags=pymupdf.TEXTFLAGS_TEXT)
        content = textpage.extractDICT()
    except DAMAGE as cause:
        raise ExtractionFailed(
            f"Page {number} of {name} is damaged ({cause}). "
            "Get a fresh copy, or print it to a new PDF."
        ) from cause
    hidden = count_hidden(page, content, name) if len(read.text) <= MAX_CHECKED_CHARACTERS else 0
    pieces = list(_read_pieces(content, page.rotation_matrix))
    words = read_words(page, textpage, read.text, has_hidden=hidden > 0)
    return LinedPage(
        replace(read, hidden=hidden, words=words_to_text(words)),
        tuple(_line(number, row) for row in _rows(pieces)),
    )


def _read_scan(document: pymupdf.Document, read: Page) -> LinedPage:
    try:
        area = document[read.number - 1].rect
    except DAMAGE:  # its pixels could be read
        return LinedPage(read, lines_of_text(read))
    return LinedPage(read, read_scanned_lines(read, area.width, area.height))


def _read_pieces(content: Content, turn: pymupdf.Matrix) -> Iterator[_Piece]:
    end = 0
    for block in content["blocks"]:
        for line in block.get("lines", ()):
            piece = _read_piece(line, turn, end)
            if piece.text:
                end += len(without_spaces(piece.text))
                yield piece


def _read_piece(line: Mapping[str, Any], turn: pymupdf.Matrix, start: int) -> _Piece:
    """Convert a PyMuPDF line, whose box is on the unrotated page, to displayed coordinates."""
    box = pymupdf.Rect(line["bbox"]) * turn
    right, down = line["dir"]
    rise = right * turn.b + down * turn.d
    return _Piece(
        (box.x0, box.y0, box.x1, box.y1), tuple(line["spans"]), abs(rise) < _MAX_SLOPE, start
    )


def _rows(pieces: Sequence[_Piece]) -> Iterator[list[_Piece]]:
    row: list[_Piece] = []
    for piece in pieces:
        if row and not all(_are_beside(piece, other) for other in row):
            yield sorted(row, key=lambda part: part.box[0])
            row = []
        row.append(piece)
    if row:
        yield sorted(row, key=lambda part: part.box[0])


def _are_beside(one: _Piece, other: _Piece) -> bool:
    left, top, right, bottom = one.box
    shared = min(bottom, other.box[3]) - max(top, other.box[1])
    height = min(bottom - top, other.box[3] - other.box[1])
    overlap = min(right, other.box[2]) - max(left, other.box[0])
    are_level = one.is_level and other.is_level
    return are_level and shared > _SHARED_HEIGHT * height and overlap < _MAX_OVERLAP


def _line(page_number: int, row: Sequence[_Piece]) -> Line:
    text = row[0].text
    for left, right in pairwise(row):
        text += ("" if right.box[0] - left.box[2] < _MIN_SPACE else " ") + right.text
    spans = [span for piece in row for span in piece.spans if span["text"].strip()]
    weights: dict[float, int] = {}
    bold = 0
    for span in spans:
        letters = len(span["text"].strip())
        size = round(span["size"], 1)
        weights[size] = weights.get(size, 0) + letters
        bold += letters if _is_bold(span) else -letters
    size = max(weights, key=lambda size: (weights[size], size))
    return Line(
        page_number,
        text,
        _bounding_box(row),
        size,
        bold > 0,
        _is_mark(spans[0], size),
        tuple(piece.place for piece in row),
    )


def _bounding_box(row: Sequence[_Piece]) -> Box:
    left, top, right, bottom = zip(*(piece.box for piece in row), strict=True)
    return (
        round(min(left), 1),
        round(min(top), 1),
        round(max(right), 1),
        round(max(bottom), 1),
    )


def _is_bold(span: _Span) -> bool:
    return bool(span["flags"] & _BOLD) or any(
        name in span["font"].casefold() for name in _BOLD_NAMES
    )


def _is_mark(span: _Span, size: float) -> bool:
    small = span["size"] < _MARK_SIZE_RATIO * size or bool(span["flags"] & _RAISED)
    return small and span["text"].strip().isdigit()
