"""Marks, the lines at which sections start, and their patterns.

This module has what `labels`, `numbered` and `unnumbered` share; each finds one kind of mark by its
own evidence.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from quinion.chunk.sections.contents import Contents
from quinion.chunk.sections.numbering import Number
from quinion.chunk.sections.typography import Typography, is_title
from quinion.model.line import Line
from quinion.model.section import Kind

WORDS = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    *("nineteen", "twenty"),
)
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50}

CODE = r"[A-Z]{1,5}(?:/[A-Z]{1,4})?[ -]?\d{1,3}(?:\.\d{1,2}){0,2}[A-Za-z]?"
"""A policy's code: `H1`, `CSP 1`, `HO3.5`."""

LABELLED: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern + "(.*)"))
    for kind, pattern in (
        (Kind.PART, r"(?i:part)\s+(\d{1,2}|[IVX]{1,4}|[A-H])(?=\W|$)"),
        (
            Kind.CHAPTER,
            rf"(?i:chapter)\s+(\d{{1,2}}|[IVXL]{{1,6}}|(?i:{'|'.join(WORDS)}))(?=\W|$)",
        ),
        (Kind.SECTION, r"(?i:section)\s+(\d{1,2}|[IVX]{1,4}|[A-H])(?=[^\w.(]|$)"),
        (Kind.ANNEX, r"(?i:annex(?:e|ure)?)\s+([A-Z]|\d{1,2}|[IVX]{1,5})(?=\W|$)"),
        (Kind.APPENDIX, r"(?i:appendix)\s+([A-Z]|\d{1,2}|[IVX]{1,5})(?=\W|$)"),
        (Kind.SCHEDULE, r"(?i:schedule)\s+([A-Z]|\d{1,2}|[IVX]{1,5})(?=\W|$)"),
        (
            Kind.POLICY,
            rf"(?:(?i:strategic|core|development|local plan|site)\s+)?(?i:policy)\s+"
            rf"({CODE}|\d{{1,3}}[A-Za-z]?|[A-Z]{{1,3}}(?=\s*[:–—-]\s))(?=[^\w(]|$)",
        ),
    )
)
CAPTIONS: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"(?i:{word})\s+([A-Z]?\d{{1,3}}(?:[.\-–]\d{{1,3}})*[A-Za-z]?)(?=\W|$)(.*)"))
    for kind, word in (
        (Kind.TABLE, "table"),
        (Kind.FIGURE, r"fig(?:ure|\.)?"),
        (Kind.MAP, "map"),
        (Kind.BOX, "box"),
    )
)
BARE_POLICY = re.compile(rf"({CODE})(\s*[:–—]\s*\S.*)")
NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,2})\.?(?=\s)\s*(\S.*)")
BETWEEN = " :.–—-|"
"""Characters between a label and its title."""

ALIGNED = 4.0
"""Tolerance in points for lines that start at the same x position."""

# Largest gap between lines of one heading, as a share of their size, and their maximum number.
_LEADING = 0.5
_HEADING_LINES = 4
_SAME_SIZE = 0.2

_TITLED_BELOW = frozenset({Kind.POLICY, Kind.CHAPTER, Kind.ANNEX, Kind.APPENDIX})


@dataclass(frozen=True, slots=True)
class Mark:
    """The heading of a section, or the start of a numbered paragraph.

    It covers the lines from `first` to `last`. `size` is 0 if unknown. `inner` marks a paragraph
    whose numbering restarts in the enclosing section.
    """

    kind: Kind
    first: int
    last: int
    name: str
    title: str
    size: float = 0.0
    left: float = 0.0
    number: Number = ()
    inner: bool = False


@dataclass(frozen=True, slots=True)
class DocumentLines:
    """The lines of a document that are searched for marks.

    `free` are the indices of candidate lines, ascending: no furniture, contents or footnotes.
    """

    lines: Sequence[Line]
    free: Sequence[int]
    typography: Typography
    contents: Contents

    def below(self, index: int) -> int | None:
        """Return the next candidate line."""
        place = bisect_right(self.free, index)
        return self.free[place] if place < len(self.free) else None

    def read_mark(self, index: int, kind: Kind, name: str, rest: str) -> Mark:
        """Read the mark that starts at a line, with its continuation lines."""
        line = self.lines[index]
        last = index
        title = rest if kind is Kind.HEADING else rest.lstrip(BETWEEN)
        below = self.below(last)
        if self.typography.stands_out(line) or self.typography.is_small(line):
            while below is not None and self.goes_on(last, below):
                last, title = below, f"{title} {self.lines[below].text}".strip()
                below = self.below(last)
                if last - index >= _HEADING_LINES:
                    break
        if not title and kind in _TITLED_BELOW and below is not None:
            other = self.lines[below]
            if self.typography.stands_out(other) and is_title(other.text) and _aligned(line, other):
                last, title = below, other.text
        left = 0.0 if line.box is None else line.box[0]
        return Mark(kind, index, last, name, title, line.size or 0.0, left)

    def goes_on(self, above: int, below: int) -> bool:
        """Check that the line below continues the heading of the line above."""
        one, other = self.lines[above], self.lines[below]
        if one.page_number != other.page_number or one.box is None or other.box is None:
            return False
        if one.size is None or other.size is None or one.bold != other.bold:
            return False
        if abs(one.size - other.size) > _SAME_SIZE or _starts_section(other.text):
            return False
        return -one.size < other.box[1] - one.box[3] < one.size * _LEADING


def count_of(name: str) -> int:
    """Parse digits, a number word or a Roman numeral; 0 if it is none of these."""
    if name.isdigit():
        return int(name)
    if name.casefold() in WORDS:
        return WORDS.index(name.casefold()) + 1
    values = [_ROMAN.get(letter, 0) for letter in name.upper()]
    if not all(values):
        return 0
    return sum(
        -value if value < after else value
        for value, after in zip(values, [*values[1:], 0], strict=True)
    )


def _aligned(above: Line, below: Line) -> bool:
    if above.page_number != below.page_number or above.box is None or below.box is None:
        return False
    return abs(above.box[0] - below.box[0]) < ALIGNED


def _starts_section(text: str) -> bool:
    return (
        NUMBERED.fullmatch(text) is not None
        or BARE_POLICY.fullmatch(text) is not None
        or any(pattern.fullmatch(text) for _, pattern in (*LABELLED, *CAPTIONS))
    )
