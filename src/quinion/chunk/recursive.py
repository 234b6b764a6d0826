"""Pages → chunks, by the recursive splitting that the specs prescribe.

The result is, character for character, what LangChain's `RecursiveCharacterTextSplitter`
gives with `keep_separator="end"` (`bench/ingest.py` compares the two on real documents). It
is written again because we need to know where each chunk lies, so that page numbers are
exact, and because that splitter brings LangChain's core along for a hundred lines.

Everything here is spans into one text: a chunk is never copied together from parts.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from quinion.model.chunk import Chunk
from quinion.model.page import Page

SEPARATORS = ("\n\n", "\n", ". ", "! ", "? ", "; ", ", ", " ", "")
PAGE_BREAK = "\n\n"

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Sizes:
    """In characters; the specs reckon four to a token."""

    size: int = 800
    overlap: int = 200


STANDARD = Sizes()


def join_pages(pages: Sequence[Page]) -> str:
    """The document's text: its pages, a paragraph break between each two."""
    return PAGE_BREAK.join(page.text for page in pages)


def chunk_pages(pages: Sequence[Page], sizes: Sizes = STANDARD) -> list[Chunk]:
    """Split the joined text of `pages` and say on which of them each chunk lies."""
    text = join_pages(pages)
    written = [page for page in pages if page.text]
    starts = _page_starts(pages)
    numbers = [page.number for page in written]
    return [
        Chunk(
            index=index,
            text=text[start:end],
            start=start,
            end=end,
            pages=tuple(numbers[bisect_right(starts, start) - 1 : bisect_right(starts, end - 1)]),
        )
        for index, (start, end) in enumerate(split(text, sizes))
    ]


def _page_starts(pages: Sequence[Page]) -> list[int]:
    """Where each page that has text begins in the joined text."""
    lengths = (len(page.text) + len(PAGE_BREAK) for page in pages)
    return [
        start
        for start, page in zip(accumulate(lengths, initial=0), pages, strict=False)
        if page.text
    ]


def split(text: str, sizes: Sizes = STANDARD) -> list[Span]:
    """The spans of the chunks of `text`, in order, without white space at their ends."""
    return [
        span
        for start, end in _split(text, (0, len(text)), SEPARATORS, sizes)
        if (span := _strip(text, start, end)) is not None
    ]


def _split(text: str, span: Span, separators: Sequence[str], sizes: Sizes) -> Iterator[Span]:
    """Split at the first separator that occurs; split again what is still too long."""
    separator, finer = _first_that_occurs(text, span, separators)
    short: list[Span] = []
    for piece in _pieces(text, span, separator):
        if piece[1] - piece[0] < sizes.size:
            short.append(piece)
            continue
        yield from _merge(short, sizes)
        short = []
        if finer:
            yield from _split(text, piece, finer, sizes)
        else:
            yield piece
    yield from _merge(short, sizes)


def _first_that_occurs(
    text: str, span: Span, separators: Sequence[str]
) -> tuple[str, Sequence[str]]:
    for position, separator in enumerate(separators):
        if not separator or text.find(separator, *span) >= 0:
            return separator, separators[position + 1 :]
    return separators[-1], ()


def _pieces(text: str, span: Span, separator: str) -> Iterator[Span]:
    """The parts of the span, each with the separator that ends it."""
    start, end = span
    if not separator:
        yield from ((i, i + 1) for i in range(start, end))
        return
    while (found := text.find(separator, start, end)) >= 0:
        yield start, found + len(separator)
        start = found + len(separator)
    if start < end:
        yield start, end


def _merge(pieces: Sequence[Span], sizes: Sizes) -> Iterator[Span]:
    """Put adjoining pieces together up to the size, each time starting back by the overlap."""
    window: deque[Span] = deque()
    total = 0
    for piece in pieces:
        length = piece[1] - piece[0]
        if window and total + length > sizes.size:
            yield window[0][0], window[-1][1]
            while total > sizes.overlap or (total + length > sizes.size and total > 0):
                first = window.popleft()
                total -= first[1] - first[0]
        window.append(piece)
        total += length
    if window:
        yield window[0][0], window[-1][1]


def _strip(text: str, start: int, end: int) -> Span | None:
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    end = start + len(part.strip())
    return (start, end) if end > start else None
