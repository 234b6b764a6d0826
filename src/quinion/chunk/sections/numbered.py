"""Numbered sections: `9. Transport`, `3.2 Foundations`, `5.12 …`, `116. …`.

There are three numbering schemes. Headings and dotted paragraphs share one sequence: 5, 5.1, 5.2,
6. Plain paragraphs are numbered through the document: 1. to 243. Some documents restart the
numbers of plain paragraphs in each policy, annex or chapter.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace

from quinion.chunk.sections.heading_candidates import ALIGNED, NUMBERED, DocumentLines, Mark
from quinion.chunk.sections.numbering import Number, best_chain
from quinion.chunk.sections.scanned import read_garbled
from quinion.chunk.sections.typography import is_title
from quinion.model.section import CAPTIONED, Kind

# A numbered heading weighs more than a paragraph, whose number may belong to a list.
_HEADING_WEIGHT = 1.5
# A shorter chain of paragraph numbers is a list or a coincidence.
_SHORTEST_CHAIN = 8
_FEWEST_DOTTED = 3

_PLAIN = re.compile(r"(\d{1,3})\.\s+(\S.*)")


def find_numbered(document: DocumentLines, taken: Set[int]) -> list[Mark]:
    """Find numbered headings, and paragraphs numbered through the document."""
    outline = _find_outline(document, taken)
    headings = [mark for mark in outline if mark.kind is not Kind.PARA]
    dotted = [mark for mark in outline if mark.kind is Kind.PARA]
    if len(dotted) < _FEWEST_DOTTED:
        dotted = []
    plain = _find_plain(document, taken | {mark.first for mark in headings + dotted})
    paragraphs = plain if len(plain) > 2 * len(dotted) else dotted
    return sorted(headings + paragraphs, key=lambda mark: mark.first)


def find_inner(document: DocumentLines, marks: Sequence[Mark]) -> list[Mark]:
    """Find paragraphs whose numbering restarts in each policy, annex or chapter.

    Unlike lists, they open the section: only headings precede the first.
    """
    around = [mark for mark in marks if mark.kind not in CAPTIONED]
    candidates = {
        mark.first: mark for mark in _read_plain(document, {mark.first for mark in marks})
    }
    ends = [mark.first for mark in around[1:]] + [len(document.lines)]
    found: list[Mark] = []
    for mark, end in zip(around, ends, strict=False):
        start = document.below(mark.last)
        while start is not None and document.typography.stands_out(document.lines[start]):
            start = document.below(start)
        if start is not None and start < end:
            found.extend(_count_on(candidates, start, end))
    return found


def _find_outline(document: DocumentLines, taken: Set[int]) -> list[Mark]:
    """Find numbered headings and paragraphs with dotted numbers, which share one sequence."""
    marks: list[Mark] = []
    for index in document.free:
        match = NUMBERED.fullmatch(document.lines[index].text)
        if match and index not in taken:
            marks.extend(_read_outlined(document, index, match[1], match[2]))
    weights = [1.0 if mark.kind is Kind.PARA else _HEADING_WEIGHT for mark in marks]
    return [marks[place] for place in best_chain([mark.number for mark in marks], weights)]


def _read_outlined(document: DocumentLines, index: int, name: str, rest: str) -> Iterator[Mark]:
    line, typography, contents = document.lines[index], document.typography, document.contents
    number: Number = tuple(int(part) for part in name.split("."))
    mark = replace(document.read_mark(index, Kind.SECTION, name, rest), number=number)
    mark = _with_next_line(document, mark)
    is_dotted = len(number) > 1
    named = contents.names(mark.title) or contents.names(line.text)
    if is_title(mark.title) and (typography.is_large(line) or named):
        yield mark if is_dotted else replace(mark, kind=Kind.CHAPTER)
    elif is_dotted and is_title(mark.title) and typography.stands_out(line):
        yield mark
    elif is_dotted and not typography.is_large(line) and not typography.is_small(line):
        yield replace(mark, kind=Kind.PARA, last=index, title="")


def _with_next_line(document: DocumentLines, mark: Mark) -> Mark:
    """Join a title of two lines if the table of contents has it; for text without layout."""
    line, below = document.lines[mark.first], document.below(mark.last)
    if line.size is not None or below is None:
        return mark
    title = f"{mark.title} {document.lines[below].text}"
    return replace(mark, last=below, title=title) if document.contents.names(title) else mark


def _find_plain(document: DocumentLines, taken: Set[int]) -> list[Mark]:
    """Find paragraphs numbered through the document.

    If many lists start with 1, the numbers belong to the lists.
    """
    marks = list(_read_plain(document, taken))
    chain = best_chain([mark.number for mark in marks])
    restarts = sum(mark.number == (1,) for mark in marks)
    if len(chain) < max(_SHORTEST_CHAIN, 2 * restarts):
        return []
    return [marks[place] for place in chain]


def _read_plain(document: DocumentLines, taken: Set[int]) -> Iterator[Mark]:
    """Yield lines that start like numbered paragraphs or list items."""
    for index in document.free:
        line = document.lines[index]
        match = _PLAIN.fullmatch(line.text)
        number = match[1] if match else None
        if number is None and line.is_scanned and (garbled := read_garbled(line.text)):
            number, _ = garbled
        if number is None or index in taken:
            continue
        if not document.typography.is_large(line) and not document.typography.is_small(line):
            mark = document.read_mark(index, Kind.PARA, number, "")
            yield replace(mark, last=index, title="", number=(int(number),))


def _count_on(candidates: Mapping[int, Mark], start: int, end: int) -> Iterator[Mark]:
    """Yield the paragraphs of one section, each aligned with the first."""
    first = candidates.get(start)
    if first is None or first.number != (1,):
        return
    expected = 1
    for index in range(start, end):
        mark = candidates.get(index)
        if mark is None or abs(mark.left - first.left) >= ALIGNED:
            continue
        if mark.number == (expected,):
            yield replace(mark, inner=True)
            expected += 1
