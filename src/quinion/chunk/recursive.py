"""Recursive character splitter with page numbers, as the specs prescribe.

The chunks equal, character for character, those of LangChain's `RecursiveCharacterTextSplitter`
with `keep_separator="end"` (`bench/text/agreement.py` compares the two on real documents). This is
a reimplementation because exact page numbers need the offset of each chunk, and because LangChain
would add its core as a dependency for a hundred lines.

Pages are processed one by one. All positions are offsets into the joined text, of which only the
part that the next chunk needs is in memory.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from quinion.model.chunk import Chunk
from quinion.model.page import Page

SEPARATORS = ("\n\n", "\n", ". ", "! ", "? ", "; ", ", ", " ", "")
PAGE_BREAK = "\n\n"

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Chunk size and overlap in characters; the specs assume four characters per token."""

    size: int = 800
    overlap: int = 200


STANDARD = Sizes()


def join_pages(pages: Sequence[Page]) -> str:
    """Join the pages with paragraph breaks."""
    return PAGE_BREAK.join(page.text for page in pages)


class Chunker:
    """Incremental splitter: accepts pages one by one and returns chunks with their pages.

    A chunk is returned as soon as no later page can change it, so that chunks are embedded while
    pages are still being read. The chunks equal those of the complete text.
    """

    def __init__(self, sizes: Sizes = STANDARD) -> None:
        self._sizes = sizes
        self._merging = _Merging(sizes)
        self._text = ""  # the pending part of the text
        self._base = 0  # its offset
        self._cut = 0  # up to where the text is cut into pieces
        self._count = 0
        self._starts: list[int] = []
        self._numbers: list[int] = []
        self._hidden: set[int] = set()
        self._pages = 0

    def add(self, page: Page) -> list[Chunk]:
        """Add a page and return the chunks that are final now."""
        if self._pages:
            self._text += PAGE_BREAK
        self._pages += 1
        if page.text:
            self._starts.append(self._base + len(self._text))
            self._numbers.append(page.number)
            if page.hidden:
                self._hidden.add(page.number)
            self._text += page.text
        return self._emit(self._cut_paragraphs())

    def finish(self) -> list[Chunk]:
        """Return the remaining chunks after the last page."""
        end = self._base + len(self._text)
        if self._cut:
            rest = [(self._cut, end)] if self._cut < end else []
            spans = [*chain.from_iterable(map(self._add_piece, rest)), *self._merging.flush()]
        else:
            spans = list(_split(self._text, (0, end), SEPARATORS, self._sizes))
        return self._emit(spans)

    def _cut_paragraphs(self) -> Iterator[Span]:
        """Yield the spans that the complete paragraphs determine; a paragraph break is always the
        first separator."""
        while (found := self._text.find(SEPARATORS[0], self._cut - self._base)) >= 0:
            piece = self._cut, self._base + found + len(SEPARATORS[0])
            yield from self._add_piece(piece)
            self._cut = piece[1]

    def _add_piece(self, piece: Span) -> Iterator[Span]:
        if piece[1] - piece[0] < self._sizes.size:
            yield from self._merging.add(piece)
            return
        yield from self._merging.flush()
        local = piece[0] - self._base, piece[1] - self._base
        for start, end in _split(self._text, local, SEPARATORS[1:], self._sizes):
            yield self._base + start, self._base + end

    def _emit(self, spans: Iterable[Span]) -> list[Chunk]:
        chunks = [chunk for span in spans if (chunk := self._chunk(span))]
        pending = self._merging.start
        needed = self._cut if pending is None else pending
        self._text, self._base = self._text[needed - self._base :], needed
        return chunks

    def _chunk(self, span: Span) -> Chunk | None:
        local = _strip(self._text, span[0] - self._base, span[1] - self._base)
        if local is None:
            return None
        start, end = self._base + local[0], self._base + local[1]
        first, last = bisect_right(self._starts, start) - 1, bisect_right(self._starts, end - 1)
        pages = tuple(self._numbers[first:last])
        self._count += 1
        return Chunk(
            index=self._count - 1,
            text=self._text[slice(*local)],
            start=start,
            end=end,
            pages=pages,
            page_breaks=tuple(at - start for at in self._starts[first + 1 : last]),
            has_hidden=not self._hidden.isdisjoint(pages),
            page_start=start - self._starts[first],
        )


def chunk_pages(pages: Iterable[Page], sizes: Sizes = STANDARD) -> list[Chunk]:
    """Split the joined text of `pages` into chunks with their page numbers."""
    chunker = Chunker(sizes)
    return [*chain.from_iterable(map(chunker.add, pages)), *chunker.finish()]


def split(text: str, sizes: Sizes = STANDARD) -> list[Span]:
    """Return the chunk spans of `text`, in order, without surrounding white space."""
    return [
        span
        for start, end in _split(text, (0, len(text)), SEPARATORS, sizes)
        if (span := _strip(text, start, end)) is not None
    ]


def _split(text: str, span: Span, separators: Sequence[str], sizes: Sizes) -> Iterator[Span]:
    """Split at the first separator that occurs, and split parts that are too long again."""
    separator, finer = _first_that_occurs(text, span, separators)
    merging = _Merging(sizes)
    for piece in _pieces(text, span, separator):
        if piece[1] - piece[0] < sizes.size:
            yield from merging.add(piece)
            continue
        yield from merging.flush()
        if finer:
            yield from _split(text, piece, finer, sizes)
        else:
            yield piece
    yield from merging.flush()


def _first_that_occurs(
    text: str, span: Span, separators: Sequence[str]
) -> tuple[str, Sequence[str]]:
    for position, separator in enumerate(separators):
        if not separator or text.find(separator, *span) >= 0:
            return separator, separators[position + 1 :]
    return separators[-1], ()


def _pieces(text: str, span: Span, separator: str) -> Iterator[Span]:
    """Yield the parts of the span, each with the separator at its end."""
    start, end = span
    if not separator:
        yield from ((i, i + 1) for i in range(start, end))
        return
    while (found := text.find(separator, start, end)) >= 0:
        yield start, found + len(separator)
        start = found + len(separator)
    if start < end:
        yield start, end


class _Merging:
    """Merges adjacent pieces up to the chunk size; each chunk starts with the overlap."""

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._window: deque[Span] = deque()
        self._total = 0

    @property
    def start(self) -> int | None:
        """Offset of the first pending piece."""
        return self._window[0][0] if self._window else None

    def add(self, piece: Span) -> Iterator[Span]:
        length = piece[1] - piece[0]
        size, overlap = self._sizes.size, self._sizes.overlap
        if self._window and self._total + length > size:
            yield self._window[0][0], self._window[-1][1]
            while self._total > overlap or (self._total + length > size and self._total > 0):
                first = self._window.popleft()
                self._total -= first[1] - first[0]
        self._window.append(piece)
        self._total += length

    def flush(self) -> Iterator[Span]:
        if self._window:
            yield self._window[0][0], self._window[-1][1]
        self._window.clear()
        self._total = 0


def _strip(text: str, start: int, end: int) -> Span | None:
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    end = start + len(part.strip())
    return (start, end) if end > start else None
