"""Footnote detection: small print at the foot of a page that starts with a number."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from quinion.chunk.sections.typography import Typography
from quinion.model.line import Line

# Unreadable numbers that may be missing between two notes.
_MOST_MISSING = 2

_NOTE = re.compile(r"(\d{1,3})\s*(\D.*[^\W\d_]{2}.*)")
_FINISHED = tuple(".!?;:)”\"'’")


@dataclass(slots=True)
class Note:
    """A footnote. `lines` are indices; a note that continues on the next page has lines on both."""

    number: int
    lines: list[int] = field(default_factory=list)


def find_notes(
    lines: Sequence[Line], furniture: frozenset[int], typography: Typography
) -> list[Note]:
    """Find the footnotes, in order.

    Without layout there are none: their lines stay in the surrounding section.
    """
    pages: dict[int, list[int]] = defaultdict(list)
    for index, line in enumerate(lines):
        if index not in furniture:
            pages[line.page_number].append(index)
    notes: list[Note] = []
    for number, page in pages.items():
        _read_foot(lines, _foot(lines, page, typography), number, notes)
    return notes


def _foot(lines: Sequence[Line], page: Sequence[int], typography: Typography) -> list[int]:
    """Return the small print below the rest of the page, from top to bottom."""
    foot: list[int] = []
    for index in sorted(page, key=lambda index: _bottom(lines[index]), reverse=True):
        if not typography.is_small(lines[index]):
            break
        foot.append(index)
    # A page of small print only is a table or a map, not a note.
    return foot[::-1] if len(foot) < len(page) else []


def _bottom(line: Line) -> float:
    return 0.0 if line.box is None else line.box[3]


def _read_foot(
    lines: Sequence[Line], foot: Sequence[int], page_number: int, notes: list[Note]
) -> None:
    """Add the notes of one page, including the continuation of the previous page's last note."""
    current: Note | None = None
    if notes and lines[notes[-1].lines[-1]].page_number == page_number - 1:
        unfinished = not lines[notes[-1].lines[-1]].text.endswith(_FINISHED)
        begins = any(_is_next(lines[index], notes) for index in foot)
        current = notes[-1] if unfinished and begins else None
    for index in foot:
        match = _NOTE.fullmatch(lines[index].text)
        if match and _is_next(lines[index], notes):
            current = Note(int(match[1]))
            notes.append(current)
        if current is not None:
            current.lines.append(index)


def _is_next(line: Line, notes: Sequence[Note]) -> bool:
    match = _NOTE.fullmatch(line.text)
    if match is None:
        return False
    number = int(match[1])
    last = notes[-1].number if notes else 0
    if line.marked:
        return number > last or number == 1
    return last < number <= last + 1 + _MOST_MISSING
