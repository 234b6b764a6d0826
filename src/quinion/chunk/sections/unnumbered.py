"""Unnumbered headings: large or bold lines that read like a title.

A heading no larger than the body text counts only if the text has no paragraph numbers, or if
another mark follows directly: a bold line inside a paragraph is not a heading.
"""

from collections.abc import Sequence, Set

from quinion.chunk.sections.heading_candidates import DocumentLines, Mark
from quinion.chunk.sections.typography import is_title
from quinion.model.section import Kind

# Minimum white space above a heading, as a share of its size.
_SPACE_ABOVE = 0.3
# A first page with fewer lines of body text is a cover, and its large print is no heading.
_FEWEST_PROSE_LINES = 4
_PROSE_LINE = 50


def find_headings(document: DocumentLines, marks: Sequence[Mark], repeats: Set[int]) -> list[Mark]:
    """Find headings that are not among the marks.

    `repeats` are lines that repeat the heading of a mark.
    """
    taken = {index for mark in marks for index in range(mark.first, mark.last + 1)} | repeats
    numbered = any(mark.kind is Kind.PARA for mark in marks)
    opening = {mark.first for mark in marks}
    cover = 1 if _has_cover(document) else 0
    found: list[Mark] = []
    # In reverse, because a heading depends on what follows it.
    for mark in reversed(_read_titles(document, taken)):
        line = document.lines[mark.first]
        below = document.below(mark.last)
        if line.page_number == cover:
            continue
        if (
            document.typography.is_large(line)
            or below in opening
            or (not numbered and below is not None and _stands_apart(document, mark.first))
        ):
            found.append(mark)
            opening.add(mark.first)
    return found[::-1]


def _read_titles(document: DocumentLines, taken: Set[int]) -> list[Mark]:
    """Return the candidates that look and read like headings, with all their lines."""
    titles: list[Mark] = []
    end = -1
    for index in document.free:
        line = document.lines[index]
        if index <= end or index in taken or not document.typography.stands_out(line):
            continue
        mark = document.read_mark(index, Kind.HEADING, "", line.text)
        end = mark.last
        if is_title(mark.title) and taken.isdisjoint(range(mark.first, mark.last + 1)):
            titles.append(mark)
    return titles


def _has_cover(document: DocumentLines) -> bool:
    first = [document.lines[i] for i in document.free if document.lines[i].page_number == 1]
    prose = [line for line in first if len(line.text) >= _PROSE_LINE]
    return len(prose) < _FEWEST_PROSE_LINES


def _stands_apart(document: DocumentLines, index: int) -> bool:
    """Check for white space above the line, or for the start of a page or column."""
    line = document.lines[index]
    before = document.lines[index - 1] if index else None
    if before is None or before.page_number != line.page_number:
        return True
    if line.box is None or before.box is None or line.size is None:
        return False
    gap = line.box[1] - before.box[3]
    return gap > line.size * _SPACE_ABOVE or line.box[1] < before.box[1]
