"""A span too long for one chunk → spans that fit, cut where it hurts least.

Cuts are looked for level by level: at the blocks or statements that a format knows of, then at
paragraphs, lines, sentences and words. From each start as much is taken as fits, up to the last
cut of the coarsest level that leaves neither a min_part behind nor, if it can be helped, a unit in
two that would have fitted. Where there is no cut at all, the text is cut anywhere.

The spans do not overlap, and what lies between them is white space. Every search is within a
window of one chunk's length, so the work grows with the length of the text and no faster.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from quinion.chunk.token_offsets import Span, TokenOffsets

_LEADING_BLANK = re.compile(r"\s*")


class Level(Protocol):
    """CutPositions of one kind at which a text may be cut."""

    def last(self, text: str, start: int, end: int) -> int | None:
        """The last such place after `start`, `end` at most."""
        ...


@dataclass(frozen=True, slots=True)
class CutPositions:
    """CutPositions that are known, ascending: where units begin."""

    places: Sequence[int]

    def last(self, text: str, start: int, end: int) -> int | None:
        index = bisect_right(self.places, end)
        place = self.places[index - 1] if index else start
        return place if place > start else None


@dataclass(frozen=True, slots=True)
class CutPattern:
    """Cuts after each match of a pattern.

    The pattern must not look ahead, because the search window ends there.
    """

    pattern: re.Pattern[str]

    def last(self, text: str, start: int, end: int) -> int | None:
        place = None
        for match in self.pattern.finditer(text, start, end):
            place = match.end()
        return place


_SENTENCE_END = r"[.!?…][\"')\]”’»]*"
PARAGRAPHS = CutPattern(re.compile(r"\n[^\S\n]*\n"))
SENTENCES = CutPattern(re.compile(rf"{_SENTENCE_END}\s|[。！？]"))
SENTENCE_LINES = CutPattern(re.compile(rf"{_SENTENCE_END}[^\S\n]*\n"))
LINES = CutPattern(re.compile(r"\n"))
WORDS = CutPattern(re.compile(r"\s"))

BY_LINES: tuple[Level, ...] = (PARAGRAPHS, SENTENCE_LINES, LINES, SENTENCES, WORDS)
"""For what is written in lines: a cut inside a line is worse than one inside a sentence."""

BY_SENTENCES: tuple[Level, ...] = (PARAGRAPHS, SENTENCES, LINES, WORDS)
"""For what was broken into lines by a printer."""


def split_span(
    offsets: TokenOffsets,
    span: Span,
    size: int,
    levels: Sequence[Level] = BY_LINES,
    first: int | None = None,
    head: int = 0,
) -> Iterator[Span]:
    """The parts of the span that have no more than `size` tokens, in order and none of them blank.

    A part begins with the indentation of its first line and ends with its last visible letter.
    Where `first` is given it is the first part's size. A heading that ends at `head` is not cut
    off from what comes after it, if it takes less than a third of the first part.
    """
    text, room = offsets.text, size if first is None else first
    end = _visible_end(text, *span)
    start = _visible_start(text, span[0], end, room)
    head = _skip_blank(text, head) if offsets.weigh(start, head) <= room // 3 else 0
    while start < end:
        if _fits(offsets, start, end, room):
            place = end
        else:
            place = _cut(offsets, start, end, room, levels, head)
        yield start, _visible_end(text, start, place)
        room = size
        start = _visible_start(text, place, end, room)


def _fits(offsets: TokenOffsets, start: int, end: int, size: int) -> bool:
    return offsets.weigh(start, end) <= size and offsets.count(start, end) <= size


def _cut(
    offsets: TokenOffsets, start: int, end: int, size: int, levels: Sequence[Level], head: int
) -> int:
    """Where the span from `start`, of which not all fits, ends best."""
    place = _choose(offsets, start, end, size, levels, head)
    # It may have more tokens than it seemed, where it begins or ends inside a word.
    while place - start > 1 and offsets.count(start, place) > size:
        place = (start + place) // 2
    return place


def _choose(
    offsets: TokenOffsets, start: int, end: int, size: int, levels: Sequence[Level], head: int
) -> int:
    min_part, tiny_part = size // 4, size // 12
    window = min(offsets.reach(start, size), end)
    after = max(_skip_blank(offsets.text, start), min(head, window))
    for level in levels:
        place = level.last(offsets.text, after, window)
        if place is None:
            continue
        weight = offsets.weigh(start, place)
        if weight >= min_part or (
            weight >= tiny_part and _next_fits(offsets, place, end, size, level)
        ):
            if offsets.weigh(place, end) >= min_part:
                return place
            # Only a min_part would be left: rather an earlier place, if there is a good one.
            balanced = min(
                place, offsets.reach(start, max(1, offsets.weigh(start, end) - min_part))
            )
            earlier = level.last(offsets.text, after, balanced)
            return earlier if earlier and offsets.weigh(start, earlier) >= min_part else place
    return window


def _next_fits(offsets: TokenOffsets, place: int, end: int, size: int, level: Level) -> bool:
    """Whether what comes after the place, up to the level's next, is short enough to be whole."""
    start = _skip_blank(offsets.text, place)
    window = offsets.reach(start, size)
    return window >= end or level.last(offsets.text, start, window) is not None


def _skip_blank(text: str, start: int) -> int:
    match = _LEADING_BLANK.match(text, start)
    assert match is not None
    return match.end()


def _visible_start(text: str, start: int, end: int, size: int) -> int:
    """The first visible letter, or the beginning of its line if only indentation is between.

    Indentation of more than `size` characters is none, and would take the room of text.
    """
    visible = min(_skip_blank(text, start), end)
    line = text.rfind("\n", max(start - 1, 0), visible) + 1
    if line == 0 and start > 0:
        return visible
    return line if visible - line <= size else visible


def _visible_end(text: str, start: int, end: int) -> int:
    return start + len(text[start:end].rstrip())
