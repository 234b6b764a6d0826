"""Page of a document: its text, the extraction method, and its words with their boxes.

A place on a page is an offset in its text without white space. So it does not depend on how the
text was broken into lines or words, and it identifies one place even if the text is repeated.
"""

import base64
import struct
import sys
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from typing import NamedTuple

Box = tuple[float, float, float, float]
"""Left, top, right, bottom as fractions of the displayed page, 0 to 1 from its top left."""

PAGE_SPANS = "page_spans"
"""Metadata key of a chunk: the parts of pages that it consists of (`format_spans`)."""
FORMAT = 1
SCALE = 0xFFFF
"""Coordinates are stored in 16 bits: a hundredth of a point on an A4 page."""
STARTS_LINE, HIDDEN = 1, 2
LOW_CONFIDENCE = 70.0
"""Mean confidence of a page's words below which its OCR is doubtful."""
SOFT_HYPHEN = "\xad"
_HEAD = struct.Struct("<BIff")


class Method(StrEnum):
    """Extraction method of a text; `MIXED` is used for documents only."""

    TEXT_LAYER = "text_layer"
    OCR = "ocr"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Page:
    """One extracted page.

    `number` is 1-based. `confidence` is the mean word confidence of OCR, 0 to 100, or `None`
    without OCR or without recognized words. `hidden` is the number of characters that are
    invisible on the page. `words` are its words with their boxes (`words_to_text`);
    empty if they are not known. `engine` names the OCR engine, or both, that read the page.
    """

    number: int
    text: str
    method: Method
    confidence: float | None = None
    hidden: int = 0
    words: str = field(default="", repr=False)
    engine: str | None = None


def document_method(pages: Iterable[Page]) -> Method:
    """The method that all pages share, or `MIXED`."""
    methods = {page.method for page in pages}
    return methods.pop() if len(methods) == 1 else Method.MIXED


def count_hidden_by_page(pages: Iterable[Page]) -> dict[int, int]:
    """Count invisible characters by page number, for pages that have some."""
    return {page.number: page.hidden for page in pages if page.hidden}


def without_spaces(text: str) -> str:
    """Remove white space, and soft hyphens, which PDF readers treat differently."""
    return "".join(text.split()).replace(SOFT_HYPHEN, "")


@dataclass(frozen=True, slots=True)
class PageSpan:
    """A part of a page's text: start and end offset in the text without white space."""

    page: int
    start: int
    end: int


def format_spans(spans: Sequence[PageSpan]) -> str:
    """Format spans for the metadata of a record: `14:1020-1780,15:0-95`."""
    return ",".join(f"{span.page}:{span.start}-{span.end}" for span in spans)


def parse_spans(text: str) -> tuple[PageSpan, ...]:
    """Parse what `format_spans` wrote."""
    spans = []
    for part in filter(None, text.split(",")):
        page, _, offsets = part.partition(":")
        start, _, end = offsets.partition("-")
        spans.append(PageSpan(int(page), int(start), int(end)))
    return tuple(spans)


def join_spans(spans: Sequence[PageSpan]) -> tuple[PageSpan, ...]:
    """Join spans that follow each other without a gap, and drop empty ones."""
    joined: list[PageSpan] = []
    for span in spans:
        if span.start == span.end:
            continue
        if joined and (joined[-1].page, joined[-1].end) == (span.page, span.start):
            joined[-1] = PageSpan(span.page, joined[-1].start, span.end)
        else:
            joined.append(span)
    return tuple(joined)


def cut_spans(spans: Iterable[PageSpan], start: int, end: int) -> Iterator[PageSpan]:
    """Yield what is left of consecutive spans, cut to a part of their common length."""
    for span in spans:
        length = span.end - span.start
        first, last = max(0, start), min(length, end)
        if first < last:
            yield PageSpan(span.page, span.start + first, span.start + last)
        start, end = start - length, end - length


class Word(NamedTuple):
    """A word with its box; `starts_line` if it is the first of a line, `hidden` if invisible."""

    text: str
    box: Box
    starts_line: bool = False
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class PageWords:
    """The words of one page. `text` is the page's text without white space.

    `offsets` has the start of each word in `text`, and its length as the last entry. `size` is the
    width and height of the page in points.
    """

    text: str
    offsets: Sequence[int]
    boxes: Sequence[Box]
    flags: bytes
    size: tuple[float, float] = (0.0, 0.0)

    def __len__(self) -> int:
        return len(self.boxes)

    def within(self, start: int, end: int) -> range:
        """The indexes of the words that overlap this part of the text."""
        first = bisect_right(self.offsets, start) - 1
        return range(max(first, 0), bisect_left(self.offsets, end, hi=len(self)))


def encode_words(words: Sequence[Word], size: tuple[float, float]) -> bytes:
    """Encode the words of a page of this size in points."""
    flags = bytes(STARTS_LINE * word.starts_line | HIDDEN * word.hidden for word in words)
    columns = [array("I", [len(word.text) for word in words])]
    columns += [array("H", [_to_fixed(word.box[side]) for word in words]) for side in (0, 2, 1, 3)]
    if sys.byteorder == "big":
        for column in columns:
            column.byteswap()
    letters = "".join(word.text for word in words).encode("utf-8", "surrogatepass")
    body = b"".join([flags, *(column.tobytes() for column in columns), letters])
    return zlib.compress(_HEAD.pack(FORMAT, len(words), *size) + body)


def decode_words(data: bytes) -> PageWords | None:
    """Decode the words of a page; None if the data is damaged or has another format."""
    try:
        body = zlib.decompress(data)
        version, count, width, height = _HEAD.unpack_from(body)
        if version != FORMAT:
            return None
        at = _HEAD.size
        flags = body[at : at + count]
        at += count
        lengths, at = _column("I", body, at, count)
        columns = []
        for _ in range(4):
            column, at = _column("H", body, at, count)
            columns.append(column)
        text = body[at:].decode("utf-8", "surrogatepass")
    except (zlib.error, struct.error, ValueError):
        return None
    offsets = tuple(accumulate(lengths, initial=0))
    if len(flags) != count or len(columns[-1]) != count or offsets[-1] != len(text):
        return None
    left, right, top, bottom = ([value / SCALE for value in column] for column in columns)
    boxes = list(zip(left, top, right, bottom, strict=True))
    return PageWords(text, offsets, boxes, flags, (width, height))


def words_to_text(data: bytes) -> str:
    """Encode the result of `encode_words` as text, to be sent by a worker."""
    return base64.b64encode(data).decode()


def words_of_text(text: str) -> bytes:
    """Decode the result of `words_to_text`."""
    return base64.b64decode(text)


def _to_fixed(value: float) -> int:
    return int(value * SCALE + 0.5) if 0.0 <= value <= 1.0 else SCALE * (value > 1.0)


def _column(kind: str, body: bytes, at: int, count: int) -> tuple["array[int]", int]:
    column: array[int] = array(kind)
    end = at + count * column.itemsize
    column.frombytes(body[at:end])
    if sys.byteorder == "big":
        column.byteswap()
    return column, end
