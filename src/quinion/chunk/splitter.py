"""Splitter of long spans: cuts at the best boundary that fits.

Cuts are searched level by level: blocks or statements of the format, then paragraphs, lines,
sentences and words. Each part extends to the last cut of the coarsest level that leaves no tiny
rest and, if possible, does not split a unit that would fit into one chunk. Without any boundary,
the text is cut at the size limit.

The spans do not overlap, and only white space is between them. Each search is limited to a window
of one chunk's length, so the run time is linear in the text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from quinion.chunk.token_offsets import Span, TokenOffsets

_LEADING_BLANK = re.compile(r"\s*")


class Level(Protocol):
    """Boundaries of one kind at which a text may be cut."""

    def last(self, text: str, start: int, end: int) -> int | None:
        """Return the last boundary after `start` and at most at `end`."""
        ...


@dataclass(frozen=True, slots=True)
class CutPositions:
    """Boundaries at known offsets, ascending: the starts of units."""

    positions: Sequence[int]

    def last(self, text: str, start: int, end: int) -> int | None:
        index = bisect_right(self.positions, end)
        cut = self.positions[index - 1] if index else start
        return cut if cut > start else None


@dataclass(frozen=True, slots=True)
class CutPattern:
    """Cuts after each match of a pattern.

    The pattern must not look ahead, because the search window ends there.
    """

    pattern: re.Pattern[str]

    def last(self, text: str, start: int, end: int) -> int | None:
        cut = None
        for match in self.pattern.finditer(text, start, end):
            cut = match.end()
        return cut


_SENTENCE_END = r"[.!?…][\"')\]”’»]*"
PARAGRAPHS = CutPattern(re.compile(r"\n[^\S\n]*\n"))
SENTENCES = CutPattern(re.compile(rf"{_SENTENCE_END}\s|[。！？]"))
SENTENCE_LINES = CutPattern(re.compile(rf"{_SENTENCE_END}[^\S\n]*\n"))
LINES = CutPattern(re.compile(r"\n"))
WORDS = CutPattern(re.compile(r"\s"))

BY_LINES: tuple[Level, ...] = (PARAGRAPHS, SENTENCE_LINES, LINES, SENTENCES, WORDS)
"""For line-oriented text, where a cut inside a line is worse than one inside a sentence."""

BY_SENTENCES: tuple[Level, ...] = (PARAGRAPHS, SENTENCES, LINES, WORDS)
"""For text with layout line breaks, such as PDF pages."""


def split_span(
    offsets: TokenOffsets,
    span: Span,
    size: int,
    levels: Sequence[Level] = BY_LINES,
    first: int | None = None,
    head: int = 0,
) -> Iterator[Span]:
    """Split a span into parts of at most `size` tokens, in order; no part is blank.

    A part starts with the indentation of its first line and ends with its last visible character.
    `first` overrides the size of the first part. A heading that ends at `head` is not separated
    from the text after it, unless it takes more than a third of the first part.
    """
    text, limit = offsets.text, size if first is None else first
    end = _visible_end(text, *span)
    start = _visible_start(text, span[0], end, limit)
    head = _skip_blank(text, head) if offsets.weigh(start, head) <= limit // 3 else 0
    while start < end:
        if _fits(offsets, start, end, limit):
            cut = end
        else:
            cut = _find_cut(offsets, start, end, limit, levels, head)
        yield start, _visible_end(text, start, cut)
        limit = size
        start = _visible_start(text, cut, end, limit)


def _fits(offsets: TokenOffsets, start: int, end: int, size: int) -> bool:
    return offsets.weigh(start, end) <= size and offsets.count(start, end) <= size


def _find_cut(
    offsets: TokenOffsets, start: int, end: int, size: int, levels: Sequence[Level], head: int
) -> int:
    """Find the best end of a part for a span that does not fit completely."""
    cut = _choose_cut(offsets, start, end, size, levels, head)
    # The exact count may be higher if the part starts or ends inside a word.
    while cut - start > 1 and offsets.count(start, cut) > size:
        cut = (start + cut) // 2
    return cut


def _choose_cut(
    offsets: TokenOffsets, start: int, end: int, size: int, levels: Sequence[Level], head: int
) -> int:
    min_part, tiny_part = size // 4, size // 12
    window = min(offsets.reach(start, size), end)
    after = max(_skip_blank(offsets.text, start), min(head, window))
    for level in levels:
        cut = level.last(offsets.text, after, window)
        if cut is None:
            continue
        weight = offsets.weigh(start, cut)
        if weight >= min_part or (
            weight >= tiny_part and _next_fits(offsets, cut, end, size, level)
        ):
            if offsets.weigh(cut, end) >= min_part:
                return cut
            # The rest would be too small: prefer an earlier cut if a good one exists.
            balanced = min(cut, offsets.reach(start, max(1, offsets.weigh(start, end) - min_part)))
            earlier = level.last(offsets.text, after, balanced)
            return earlier if earlier and offsets.weigh(start, earlier) >= min_part else cut
    return window


def _next_fits(offsets: TokenOffsets, cut: int, end: int, size: int, level: Level) -> bool:
    """Check that the unit after the cut, up to the level's next boundary, fits into one chunk."""
    start = _skip_blank(offsets.text, cut)
    window = offsets.reach(start, size)
    return window >= end or level.last(offsets.text, start, window) is not None


def _skip_blank(text: str, start: int) -> int:
    match = _LEADING_BLANK.match(text, start)
    assert match is not None
    return match.end()


def _visible_start(text: str, start: int, end: int, size: int) -> int:
    """Return the first visible character, or the start of its line before its indentation.

    Indentation of more than `size` characters is dropped: it would use up the chunk.
    """
    visible = min(_skip_blank(text, start), end)
    line = text.rfind("\n", max(start - 1, 0), visible) + 1
    if line == 0 and start > 0:
        return visible
    return line if visible - line <= size else visible


def _visible_end(text: str, start: int, end: int) -> int:
    return start + len(text[start:end].rstrip())
