"""Pages with their lines: where each stands, and in what print.

PyMuPDF's lines are pieces: the number of a paragraph, its first words and a raised footnote
mark may be three. Pieces that follow each other and stand side by side are one row here, read
from left to right, on the page as it is looked at. Apart from that, and from white space, the
rows of a page are what `page.get_text("text")` gives.
"""
# PyMuPDF says that it has types, and leaves most of its functions without.
# mypy: allow-untyped-calls

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from quinion.errors import ExtractionFailed
from quinion.extract.document import Options, read_pages
from quinion.extract.filetype import FileKind, recognize
from quinion.extract.invisible_text import MAX_CHECKED_CHARACTERS, count_hidden
from quinion.extract.pdf.mupdf import DAMAGE, pymupdf
from quinion.model.line import Box, Line, LinedPage, lines_of_text
from quinion.model.page import Method, Page

# Two pieces are on one row when the lower starts above the middle of the higher.
_SHARED_HEIGHT = 0.5
# Pieces nearer than this many points are parts of one word.
_MIN_SPACE = 1.0
# Side by side pieces may overlap by this: italics lean, raised marks tuck in.
_MAX_OVERLAP = 2.0
# What rises by more than this for each point to the right is written up or down the page.
_MAX_SLOPE = 0.1
# A footnote's number is printed at two thirds of the note's size, at most at four fifths.
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

    @property
    def text(self) -> str:
        return " ".join("".join(span["text"] for span in self.spans).split())


def read_lined_pages(path: Path, first: int, last: int, options: Options) -> Iterator[LinedPage]:
    """The pages from `first` to `last` (1-based, both included), one at a time.

    A page that was read by OCR, or of an image file, has lines without boxes.

    Raises:
        ToolMissing: a page needs OCR and Tesseract is not installed.
        ExtractionFailed: a page is damaged, or Tesseract failed.
    """
    is_pdf = recognize(path, options.extension) is FileKind.PDF
    with ExitStack() as stack:
        document: pymupdf.Document | None = None
        # `read_pages` goes first: it says what is wrong with a file that cannot be opened.
        for page in read_pages(path, first, last, options):
            if not is_pdf or page.method is not Method.TEXT_LAYER:
                yield LinedPage(page, lines_of_text(page))
                continue
            if document is None:
                document = stack.enter_context(_open(path))
            yield _read_layer(document, page, path.name)


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
        content = page.get_text("dict", flags=pymupdf.TEXTFLAGS_TEXT)
    except DAMAGE as cause:
        raise ExtractionFailed(
            f"Page {number} of {name} is damaged ({cause}). "
            "Get a fresh copy, or print it to a new PDF."
        ) from cause
    hidden = count_hidden(page, content, name) if len(read.text) <= MAX_CHECKED_CHARACTERS else 0
    pieces = [
        piece
        for block in content["blocks"]
        for line in block.get("lines", ())
        if (piece := _read_piece(line, page.rotation_matrix)).text
    ]
    return LinedPage(
        replace(read, hidden=hidden), tuple(_line(number, row) for row in _rows(pieces))
    )


def _read_piece(line: Mapping[str, Any], turn: pymupdf.Matrix) -> _Piece:
    """A line of PyMuPDF's, on the page as it is looked at: its boxes are of the page unturned."""
    box = pymupdf.Rect(line["bbox"]) * turn
    right, down = line["dir"]
    rise = right * turn.b + down * turn.d
    return _Piece((box.x0, box.y0, box.x1, box.y1), tuple(line["spans"]), abs(rise) < _MAX_SLOPE)


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
    return Line(page_number, text, _bounding_box(row), size, bold > 0, _is_mark(spans[0], size))


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
