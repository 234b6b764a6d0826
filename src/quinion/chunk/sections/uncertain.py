"""Uncertain sections of pages without layout, as OCR leaves them.

OCR puts the numbers of paragraphs on lines of their own, often all at the top of their page. Such
a paragraph is not found, and the text of the one before it would go on through it. Text between
two paragraphs whose numbers do not follow one another belongs to either, so it is not cited by a
paragraph: it becomes a section of its own for each page, cited as `Page 31`. Where all missing
numbers stand alone on pages, only these pages are uncertain, and what continues from them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from quinion.chunk.sections.heading_candidates import DocumentLines, Mark
from quinion.chunk.sections.numbering import Number, follows
from quinion.chunk.sections.tree import OUTERMOST
from quinion.model.line import Line
from quinion.model.section import Kind

# After the last paragraph, a number alone counts as a missing one if it is at most this far ahead.
_AHEAD = 10

_ALONE = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,2})\.?")


@dataclass(frozen=True, slots=True)
class _Gap:
    """Line indices between which the text is uncertain; `pages` have missing numbers."""

    start: int
    end: int
    chapter: Number
    pages: frozenset[int] = frozenset()


def cite_by_page(document: DocumentLines, marks: Sequence[Mark]) -> list[Mark]:
    """Replace the marks of uncertain sections by one of each page."""
    result = list(marks)
    gaps = (
        *_find_gaps(document, marks),
        *_find_chapter_gaps(document, marks),
        *_find_policy_gaps(document, marks),
    )
    for gap in gaps:
        result = _apply(document, result, gap)
    return sorted(result, key=lambda mark: mark.first)


def _find_gaps(document: DocumentLines, marks: Sequence[Mark]) -> Iterator[_Gap]:
    """Yield the gaps in the numbers of paragraphs."""
    chain = [mark for mark in marks if mark.kind is Kind.PARA and not mark.inner]
    if any(len(mark.number) > 1 for mark in chain):
        kinds = {Kind.PARA, Kind.SECTION, Kind.CHAPTER}
        chain = [mark for mark in marks if mark.kind in kinds and mark.number and not mark.inner]
    alone = _read_alone(document)
    if chain:
        before = [
            at for at, n in alone.items() if at < chain[0].first and _is_next(n, chain[0].number)
        ]
        if before:
            first_page = _page(document, before[0])
            start = next(at for at in document.free if _page(document, at) == first_page)
            yield _Gap(start, chain[0].first, ())
    for mark, other in pairwise([*chain, None]):
        if mark is None or _has_layout(document.lines[mark.first]):
            continue
        number = mark.number
        if other is None:
            missing = {at: n for at, n in alone.items() if at > mark.first and _is_next(number, n)}
            if missing:
                yield _gap(document, mark, None, list(missing))
        elif not _goes_on(number, other.number):
            missing = {at: n for at, n in alone.items() if number < n < other.number}
            within = [
                at
                for at in missing
                if _page(document, mark.first)
                <= _page(document, at)
                <= _page(document, other.first)
            ]
            known = len({missing[at] for at in within})
            is_complete = len(number) == len(other.number) == 1 and (
                known == other.number[0] - number[0] - 1
            )
            yield _gap(document, mark, other, within if is_complete else ())


def _gap(document: DocumentLines, mark: Mark, other: Mark | None, missing: Sequence[int]) -> _Gap:
    end = len(document.lines) if other is None else other.first
    chapter = mark.number[:1] if len(mark.number) > 1 else ()
    if other is not None and other.number[:1] != chapter:
        chapter = ()
    first_page = _page(document, mark.first)
    pages = frozenset(_page(document, at) for at in missing)
    if not pages or first_page in pages:
        return _Gap(mark.first, end, chapter, pages)
    return _Gap(_page_start(document, min(pages)), end, chapter, pages)


def _find_chapter_gaps(document: DocumentLines, marks: Sequence[Mark]) -> Iterator[_Gap]:
    """Yield the heading of each chapter whose end is not known: the next one is missing."""
    chapters = [mark for mark in marks if mark.kind is Kind.CHAPTER and mark.number]
    for mark, other in pairwise(chapters):
        is_scanned = mark.first <= mark.last and not _has_layout(document.lines[mark.first])
        if is_scanned and not follows(mark.number, other.number):
            yield _Gap(mark.first, mark.last + 1, ())


def _find_policy_gaps(document: DocumentLines, marks: Sequence[Mark]) -> Iterator[_Gap]:
    """Yield the policies whose end is not known: the next code is missing.

    After `DM7` comes `DM8`, or the first policy of another family.
    """
    policies = [mark for mark in marks if mark.kind is Kind.POLICY]
    outer = [mark.first for mark in marks if mark.kind in OUTERMOST]
    for mark, other in pairwise(policies):
        if _has_layout(document.lines[mark.first]):
            continue
        (family, number), (other_family, other_number) = _code(mark), _code(other)
        is_first = family != other_family and all(part == 1 for part in other_number)
        if not is_first and not (family == other_family and follows(number, other_number)):
            ends = [at for at in outer if mark.first < at < other.first]
            yield _Gap(mark.first, min(ends, default=other.first), ())


def _code(mark: Mark) -> tuple[str, Number]:
    digits = tuple(int(part) for part in re.findall(r"\d+", mark.name))
    return re.sub(r"[\W\d].*", "", mark.name).casefold(), digits


def _apply(document: DocumentLines, marks: Sequence[Mark], gap: _Gap) -> list[Mark]:
    """Put marks of pages in place of those in the gap.

    On pages after the last missing number, the next label ends the gap.
    """
    last_page = max(gap.pages, default=None)
    end = gap.end
    if last_page is not None:
        labels = (
            mark.first
            for mark in marks
            if gap.start < mark.first < gap.end and _page(document, mark.first) > last_page
        )
        end = min(labels, default=end)
    kept = [mark for mark in marks if not gap.start <= mark.first < end]
    page = 0
    for index in document.free:
        if gap.start <= index < end and _page(document, index) != page:
            page = _page(document, index)
            kept.append(Mark(Kind.PAGE, index, index - 1, str(page), "", number=gap.chapter))
    return kept


def _read_alone(document: DocumentLines) -> dict[int, Number]:
    """Return the numbers that stand alone on a line, by line."""
    return {
        index: tuple(map(int, match[1].split(".")))
        for index in document.free
        if (match := _ALONE.fullmatch(document.lines[index].text))
        and not _has_layout(document.lines[index])
    }


def _goes_on(number: Number, other: Number) -> bool:
    """Check that no number is missing; a chapter may start with its first sub-paragraph, 5.1.1."""
    inner = other[len(number) :] if other[: len(number)] == number else ()
    return follows(number, other) or (bool(inner) and all(part == 1 for part in inner))


def _is_next(number: Number, alone: Number) -> bool:
    return (
        len(number) == len(alone)
        and number[:-1] == alone[:-1]
        and 0 < alone[-1] - number[-1] <= _AHEAD
    )


def _page_start(document: DocumentLines, page: int) -> int:
    return next(index for index in document.free if _page(document, index) >= page)


def _page(document: DocumentLines, index: int) -> int:
    return document.lines[index].page_number


def _has_layout(line: Line) -> bool:
    """Whether the layout of a line is exact: not that of OCR, which misses numbers."""
    return line.box is not None and not line.is_scanned
