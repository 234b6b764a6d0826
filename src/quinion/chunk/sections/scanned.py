"""Lines of scanned pages: font sizes made equal, and numbers that OCR garbled or missed.

The estimated sizes of lines that are printed alike differ by a few percent. They are rounded to
steps from the size of the body text, so that headings, body text and notes have one size each.

Numbers are repaired only where the count demands it: a heading without a number gets one if it is
printed like the chapters around it, and exactly as many numbers are missing between them.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from quinion.chunk.sections.numbering import best_chain
from quinion.chunk.sections.typography import is_title
from quinion.model.line import Line

# Sizes within half a step are equal: 6 percent.
_STEP = 1.125
# Minimum line length of body text, in characters.
_PROSE_LINE = 50

# So many numbered headings show how chapters are printed.
_FEWEST_CHAPTERS = 3
# Chapters are larger than the body text by this factor, and differ among each other by that.
_LARGER = 1.3
_ALIKE = 1.25
# The second line of a heading is closer than this share of its size.
_LEADING = 0.5

_CHAPTER = re.compile(r"(\d{1,2})\s?[.,]\s*([^\W\d].*)")
# What OCR makes of a number: no more than two letters, or signs among them.
_JUNK = re.compile(r"(?:\S{1,2}|\S*[^\w\s'’-]\S*)\s+(?=[A-Z])")
_DIGITS = str.maketrans("lI|i!OoQSsBZz", "1111100055822")
_GARBLED = re.compile(r"([\dlI|i!OoQSsBZz]{1,3}(?: [\dlI|i!]{1,2})?)\s?[.,:;]\s*(\S.*)")


def settle(lines: Sequence[Line]) -> Sequence[Line]:
    """Round the sizes of scanned lines and repair chapters; other lines remain as they are."""
    scanned = [line.size for line in lines if line.is_scanned and line.size]
    if not scanned:
        return lines
    prose = [
        line.size
        for line in lines
        if line.is_scanned and line.size and len(line.text) >= _PROSE_LINE
    ]
    body = median(prose or scanned)
    settled = [
        replace(line, size=_round(line.size, body)) if line.is_scanned and line.size else line
        for line in lines
    ]
    for index, number, title in _repair_chapters(lines, body):
        settled[index] = replace(settled[index], text=f"{number}. {title}")
    return settled


def _repair_chapters(lines: Sequence[Line], body: float) -> Iterator[tuple[int, int, str]]:
    """Yield the headings of chapters whose number was garbled or missed, with number and title."""
    large = [
        index
        for index, line in enumerate(lines)
        if line.is_scanned and line.size and line.size >= _LARGER * body
    ]
    numbered = [(index, match) for index in large if (match := _CHAPTER.match(lines[index].text))]
    chain = best_chain([(int(match[1]),) for _, match in numbered])
    if len(chain) < _FEWEST_CHAPTERS:
        return
    chapters = {numbered[place][0]: numbered[place][1] for place in chain}
    usual = median(lines[index].size or body for index in chapters)
    alike = [index for index in large if 1 / _ALIKE < (lines[index].size or body) / usual < _ALIKE]
    headings = [index for index in alike if not _continues(lines, index, alike)]
    for index, match in chapters.items():
        yield index, int(match[1]), match[2]
    for before, after in pairwise([None, *sorted(chapters)]):
        assert after is not None
        start, first = (-1, 1) if before is None else (before, int(chapters[before][1]) + 1)
        between = [index for index in headings if start < index < after]
        missing = range(first, int(chapters[after][1]))
        if before is None:  # titles and contents come before the first chapter
            between = [index for index in between if _JUNK.match(lines[index].text)]
        if len(between) == len(missing):
            for index, number in zip(between, missing, strict=True):
                title = _JUNK.sub("", lines[index].text, count=1)
                if is_title(title):
                    yield index, number, title


def _continues(lines: Sequence[Line], index: int, alike: Sequence[int]) -> bool:
    """Whether a line is a further line of the heading above it."""
    line, above = lines[index], lines[index - 1]
    if index - 1 not in alike or line.box is None or above.box is None:
        return False
    is_near = line.box[1] - above.box[3] < _LEADING * (line.size or 0.0)
    return is_near and line.page_number == above.page_number


def _round(size: float, body: float) -> float:
    steps = round(math.log(size / body) / math.log(_STEP))
    return round(body * _STEP**steps, 1)


def read_garbled(text: str) -> tuple[str, str] | None:
    """Read a paragraph's number with letters for digits: `l16.`, `1l6.`, and the text after it."""
    match = _GARBLED.fullmatch(text)
    if match is None:
        return None
    digits = match[1].replace(" ", "").translate(_DIGITS)
    return (digits, match[2]) if digits.isdecimal() and int(digits) else None
