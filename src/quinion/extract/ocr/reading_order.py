"""Reading order of the words of a page, by geometry. Pure.

A page is cut at the empty corridors between columns, and where none runs through, into bands from
top to bottom that have columns of their own. So a heading across columns is read before them. A
corridor separates columns if the text on both sides is prose, if one side has the numbers of the
lines, or if its lines do not stand beside those of the other side, as margin notes. Otherwise it
separates the cells of a table, which are read row by row.

Lines may run across a corridor: they are divided there.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from quinion.extract.ocr.words import Word

Line = list[Word]
Row = list[Line]


class Span(NamedTuple):
    """A part of the width of a page."""

    left: float
    right: float


# Widths and distances are relative to the median height of the words.
# A corridor is so wide, or narrower if it runs along so many rows of prose.
_MIN_CORRIDOR = 0.6
_MIN_GUTTER = 0.25
_GUTTER_ROWS = 8
_PARAGRAPH_GAP = 0.9
# A gap in a line is not a space if it is wider by this factor.
_WIDER = 1.5
# Boxes of neighbouring lines overlap by this share of their height at each edge.
_LOOSE = 0.2
# A column has at least so many lines.
_MIN_ROWS = 3
# Lines of prose have so many words in the median, and fill this share of their column.
_PROSE_WORDS = 4.0
_PROSE_FILL = 0.55
# In a table this share of the lines stand beside another, with middles closer than this.
_MAX_BESIDE = 0.6
_SAME_ROW = 0.2
# So many numbers that follow one another are the numbers of lines.
_MIN_LINE_NUMBERS = 5


def order_lines(lines: Sequence[Line]) -> list[list[Row]]:
    """Return the paragraphs of a page in reading order: rows of lines from left to right."""
    words = [word for line in lines for word in line]
    if not words:
        return []
    unit = max(1.0, median(_height(word) for word in words))
    blocks = _split([line for line in lines if line], unit)
    return [paragraph for block in blocks for paragraph in _paragraphs(_rows(block), unit)]


def _split(lines: list[Line], unit: float) -> list[list[Line]]:
    cut = _find_cut(lines, _free(lines), unit)
    if cut is not None:
        left, right = _divide(lines, cut)
        return _split(left, unit) + _split(right, unit)
    bands = list(_bands(lines))
    if len(bands) == 1:
        return [lines]
    blocks: list[list[Line]] = []
    plain: list[Line] = []
    first = 0
    while first < len(bands):
        free = _free(bands[first])
        last = first
        while last + 1 < len(bands):
            narrowed = _intersect(free, _free(bands[last + 1]))
            if not any(_is_inner(span) for span in narrowed):
                break
            free = narrowed
            last += 1
        joined = [line for band in bands[first : last + 1] for line in band]
        cut = _find_cut(joined, free, unit)
        if cut is None:
            plain += bands[first]
            first += 1
            continue
        if plain:
            blocks.append(plain)
            plain = []
        left, right = _divide(joined, cut)
        blocks += _split(left, unit) + _split(right, unit)
        first = last + 1
    return [*blocks, plain] if plain else blocks


def _bands(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Group lines that overlap vertically, from top to bottom."""
    band: list[Line] = []
    bottom = 0.0
    for line in sorted(lines, key=_top):
        loose = _LOOSE * (_bottom(line) - _top(line))
        if band and _top(line) + loose >= bottom:
            yield band
            band = []
        bottom = max(bottom if band else 0.0, _bottom(line) - loose)
        band.append(line)
    if band:
        yield band


def _free(lines: Sequence[Line]) -> list[Span]:
    """List the parts of the width without text, from left to right, with both margins."""
    boxes = sorted(part for line in lines for part in _filled(line))
    spans = []
    edge = -math.inf
    for left, right in boxes:
        if left > edge:
            spans.append(Span(edge, left))
        edge = max(edge, right)
    return [*spans, Span(edge, math.inf)]


def _filled(line: Line) -> Iterator[tuple[int, int]]:
    """Yield the parts of a line, without gaps that are wider than its spaces."""
    gaps = [after.box[0] - before.box[2] for before, after in pairwise(line)]
    space = median(gaps) if len(gaps) > 1 else _height(line[0]) / 2
    left = line[0].box[0]
    for gap, (before, after) in zip(gaps, pairwise(line), strict=True):
        if gap > _WIDER * max(space, 1):
            yield left, before.box[2]
            left = after.box[0]
    yield left, line[-1].box[2]


def _intersect(one: Sequence[Span], other: Sequence[Span]) -> list[Span]:
    found = []
    place = 0
    for left, right in one:
        while place < len(other) and other[place].right <= left:
            place += 1
        at = place
        while at < len(other) and other[at].left < right:
            found.append(Span(max(left, other[at].left), min(right, other[at].right)))
            at += 1
    return found


def _is_inner(span: Span) -> bool:
    return span.left > -math.inf and span.right < math.inf


def _find_cut(lines: Sequence[Line], free: Sequence[Span], unit: float) -> float | None:
    """Return the middle of the widest corridor that separates columns."""
    for span in sorted(filter(_is_inner, free), key=lambda span: span.left - span.right):
        width = span.right - span.left
        if width < _MIN_GUTTER * unit:
            break
        cut = (span.left + span.right) / 2
        if _are_columns(*_divide(lines, cut), unit, is_wide=width >= _MIN_CORRIDOR * unit):
            return cut
    return None


def _divide(lines: Sequence[Line], cut: float) -> tuple[list[Line], list[Line]]:
    left, right = [], []
    for line in lines:
        before = [word for word in line if word.box[0] + word.box[2] <= 2 * cut]
        after = [word for word in line if word.box[0] + word.box[2] > 2 * cut]
        left += [before] if before else []
        right += [after] if after else []
    return left, right


def _are_columns(left: list[Line], right: list[Line], unit: float, *, is_wide: bool) -> bool:
    rows = [_rows(side) for side in (left, right)]
    if min(map(len, rows)) < _MIN_ROWS:
        return False
    top = max(min(map(_top, side)) for side in (left, right))
    bottom = min(max(map(_bottom, side)) for side in (left, right))
    shared = [[line for line in side if top <= _middle(line) <= bottom] for side in (left, right)]
    fewer, more = sorted(shared, key=len)
    if not fewer or len(more) < _MIN_ROWS:
        return False
    if _is_prose(left, rows[0]) and _is_prose(right, rows[1]):
        return is_wide or min(map(len, rows)) >= _GUTTER_ROWS
    if not is_wide:
        return False
    if _are_line_numbers(rows[0]) or _are_line_numbers(rows[1]):
        return True
    beside = sum(
        any(abs(_middle(line) - _middle(other)) < _SAME_ROW * unit for other in more)
        for line in fewer
    )
    return beside < _MAX_BESIDE * len(fewer)


def _is_prose(lines: Sequence[Line], rows: Sequence[Row]) -> bool:
    width = max(line[-1].box[2] for line in lines) - min(line[0].box[0] for line in lines)
    words = median(sum(map(len, row)) for row in rows)
    fill = median(sum(line[-1].box[2] - line[0].box[0] for line in row) for row in rows)
    return words >= _PROSE_WORDS and fill >= _PROSE_FILL * width


def _are_line_numbers(rows: Sequence[Row]) -> bool:
    """Whether these are mostly numbers that follow one another, by equal steps."""
    texts = [" ".join(word.text for line in row for word in line) for row in rows]
    numbers = [int(text) if text.isdecimal() and len(text) < 4 else None for text in texts]  # noqa: PLR2004
    steps = [
        after - before
        for before, after in pairwise(numbers)
        if before is not None and after is not None
    ]
    follow = sum(step in (1, 5, 10) for step in steps)
    return follow + 1 >= max(_MIN_LINE_NUMBERS, 0.8 * len(rows))


def _rows(lines: Sequence[Line]) -> list[Row]:
    """Group lines that stand side by side, from top to bottom."""
    rows: list[Row] = []
    for line in sorted(lines, key=_middle):
        row = rows[-1] if rows else []
        if row and all(_are_beside(line, other) for other in row):
            row.append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda line: line[0].box[0]) for row in rows]


def _are_beside(one: Line, other: Line) -> bool:
    shared = min(_bottom(one), _bottom(other)) - max(_top(one), _top(other))
    overlap = min(one[-1].box[2], other[-1].box[2]) - max(one[0].box[0], other[0].box[0])
    lower = min(_bottom(one) - _top(one), _bottom(other) - _top(other))
    return shared > lower / 2 and overlap < lower


def _paragraphs(rows: Sequence[Row], unit: float) -> Iterator[list[Row]]:
    paragraph: list[Row] = []
    for row in rows:
        if paragraph:
            above = max(map(_bottom, paragraph[-1]))
            if min(map(_top, row)) - above > _PARAGRAPH_GAP * unit:
                yield paragraph
                paragraph = []
        paragraph.append(row)
    if paragraph:
        yield paragraph


def _height(word: Word) -> int:
    return word.box[3] - word.box[1]


def _top(line: Line) -> float:
    return median(word.box[1] for word in line)


def _bottom(line: Line) -> float:
    return median(word.box[3] for word in line)


def _middle(line: Line) -> float:
    return (_top(line) + _bottom(line)) / 2
