"""Pages → chunks, by the recursive splitting that the specs prescribe.

The result is, character for character, what LangChain's `RecursiveCharacterTextSplitter`
gives with `keep_separator="end"` (`bench/text/agreement.py` compares the two on real documents). It
is written again because we need to know where each chunk lies, so that page numbers are
exact, and because that splitter brings LangChain's core along for a hundred lines.

Pages are taken one by one: everything here is spans into one text, of which only so much is
kept as the next chunk needs.
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
    """In characters; the specs reckon four to a token."""

    size: int = 800
    overlap: int = 200


STANDARD = Sizes()


def join_pages(pages: Sequence[Page]) -> str:
    """The document's text: its pages, a paragraph break between each two."""
    return PAGE_BREAK.join(page.text for page in pages)


class Chunker:
    """Splits the joined text of pages as they come, and says on which of them each chunk lies.

    A chunk is given as soon as no later page can change it, so that chunks can be embedded
    while pages are still being read. What is given is the same however they come.
    """

    def __init__(self, sizes: Sizes = STANDARD) -> None:
        self._sizes = sizes
        self._merging = _Merging(sizes)
        self._text = ""  # as much of it as is needed, which begins at
        self._base = 0
        self._cut = 0  # up to where it has been cut into pieces
        self._count = 0
        self._starts: list[int] = []
        self._numbers: list[int] = []
        self._hidden: set[int] = set()
        self._pages = 0

    def add(self, page: Page) -> list[Chunk]:
        """The chunks that are certain now."""
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
        """The chunks that are left, once all pages were added."""
        end = self._base + len(self._text)
        if self._cut:
            rest = [(self._cut, end)] if self._cut < end else []
            spans = [*chain.from_iterable(map(self._add_piece, rest)), *self._merging.flush()]
        else:
            spans = list(_split(self._text, (0, end), SEPARATORS, self._sizes))
        return self._emit(spans)

    def _cut_paragraphs(self) -> Iterator[Span]:
        """What follows from the paragraphs that are whole; what separates them is always the
        first separator, once it occurs."""
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
            has_hidden=not self._hidden.isdisjoint(pages),
        )


def chunk_pages(pages: Iterable[Page], sizes: Sizes = STANDARD) -> list[Chunk]:
    """Split the joined text of `pages` and say on which of them each chunk lies."""
    chunker = Chunker(sizes)
    return [*chain.from_iterable(map(chunker.add, pages)), *chunker.finish()]


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


class _Merging:
    """Puts adjoining pieces together up to the size, each time starting back by the overlap."""

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._window: deque[Span] = deque()
        self._total = 0

    @property
    def start(self) -> int | None:
        """Where what is not given yet begins."""
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
