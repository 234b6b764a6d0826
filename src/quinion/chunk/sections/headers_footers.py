"""Page furniture: running headers and footers, and page numbers. They are in no section.

A line is furniture if it is at the edge of its page and repeats. Repeating means that many pages
have, at the same height and in the same font size and weight, lines with the same text or with
text that differs only by the page number. A header that changes with the chapter is found too,
because most lines at its height repeat. The first line of body text is not, because no two are
equal.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set

from quinion.chunk.sections.typography import is_horizontal, is_title
from quinion.model.line import Line

# Lines from the top and from the bottom of a page that count as its edge.
_EDGE_LINES = 4
# Without boxes, a line's height is its position on the page, and only the outermost count.
_EDGE_ROWS = 2
# Minimum share and number of pages with a header or footer.
_PAGE_SHARE = 0.2
_FEWEST_PAGES = 3
# Two page numbers that increase with the pages are no coincidence.
_FEWEST_NUMBERS = 2
# Minimum share of the lines at one height that repeat.
_REPEATED_SHARE = 0.5
# Largest gap between the lines of a bold header, as a share of their size.
_LEADING = 0.4
# Step in points by which heights are compared.
_STEP = 4.0

_NUMBER = re.compile(r"^\d+\b|(?<=\s)\d+\b")
# Items with a number of their own kind, which may also increase by one per page.
_COUNTED = re.compile(r"(?:policy|site|table|figure|map|chapter|section|annex|appendix)\b", re.I)
_PAGE_NUMBER = re.compile(
    r"(?:page|p\.?)?\s*[-–|]?\s*(?:\d{1,4}|[ivxl]{1,6})\s*[-–|]?\s*(?:of\s+\d{1,4}|p\s?a\s?g\s?e)?",
    re.IGNORECASE,
)

_Height = tuple[str, float, float | None, bool]


def find_furniture(lines: Sequence[Line]) -> frozenset[int]:
    """Return the line indices of running headers, footers and page numbers."""
    pages = _by_page(lines)
    heights: dict[_Height, list[int]] = defaultdict(list)
    variants: dict[str, list[int]] = defaultdict(list)
    for page in pages.values():
        for height, index in _edges(lines, page):
            heights[height].append(index)
            for variant in _variants(lines[index]):
                variants[variant].append(index)
    needed = max(_FEWEST_PAGES, _PAGE_SHARE * len(pages))
    outermost = {index for page in pages.values() for index in _outermost(lines, page)}
    found: set[int] = set()
    for indices in heights.values():
        if len({lines[index].page_number for index in indices}) >= needed:
            found.update(_if_repeated(lines, indices, outermost))
    # A page with another layout has them at another height.
    for indices in variants.values():
        if len(found.intersection(indices)) >= needed:
            found.update(indices)
    found.update(_page_numbers(lines, pages.values()))
    found.update(_second_lines(lines, pages.values(), found))
    return frozenset(found)


def _by_page(lines: Sequence[Line]) -> dict[int, list[int]]:
    pages: dict[int, list[int]] = defaultdict(list)
    for index, line in enumerate(lines):
        pages[line.page_number].append(index)
    return pages


def _edges(lines: Sequence[Line], page: Sequence[int]) -> Iterator[tuple[_Height, int]]:
    """Yield the lines at the edges of a page with height, font size and weight."""
    if any(lines[index].box is None for index in page):
        for place in range(min(_EDGE_ROWS, len(page))):
            yield ("first", place, None, False), page[place]
            yield ("last", place, None, False), page[-1 - place]
        return
    sorted_page = sorted(page, key=lambda index: _top(lines[index]))
    for index in {*sorted_page[:_EDGE_LINES], *sorted_page[-_EDGE_LINES:]}:
        line = lines[index]
        if not is_horizontal(line):
            continue
        yield ("at", round(_top(line) / _STEP), line.size, line.bold), index


def _top(line: Line) -> float:
    return 0.0 if line.box is None else line.box[1]


def _outermost(lines: Sequence[Line], page: Sequence[int]) -> tuple[int, int]:
    """Return the first and the last line of a page, by height."""
    ordered = sorted(page, key=lambda index: _top(lines[index]))
    return ordered[0], ordered[-1]


def _if_repeated(
    lines: Sequence[Line], indices: Sequence[int], outermost: Set[int]
) -> Iterator[int]:
    """Yield the headers or footers at one height, if most lines there repeat.

    A line that seldom or never repeats counts only if it is the outermost and not a sentence:
    pages without a header have body text there.
    """
    variants = Counter(variant for index in indices for variant in _variants(lines[index]))
    times = {index: max(variants[text] for text in _variants(lines[index])) for index in indices}
    if sum(count > 1 for count in times.values()) <= _REPEATED_SHARE * len(indices):
        return
    for index in indices:
        text = lines[index].text
        if times[index] >= _FEWEST_PAGES or (index in outermost and is_title(text)):
            yield index


def _second_lines(
    lines: Sequence[Line], pages: Iterable[Sequence[int]], found: Set[int]
) -> Iterator[int]:
    """Yield second lines of headers and footers: at the edge, same font, adjacent."""
    for page in pages:
        known = [lines[index] for index in page if index in found]
        for _, index in _edges(lines, page):
            line = lines[index]
            if (
                index not in found
                and is_title(line.text.title())
                and any(_touch(line, k) for k in known)
            ):
                yield index


def _touch(one: Line, other: Line) -> bool:
    """Check that one line is directly above the other; bold lines may have a small gap.

    Lines side by side do not count: they are cells of a form.
    """
    if one.box is None or other.box is None or one.size is None or one.size != other.size:
        return False
    if one.box[0] >= other.box[2] or other.box[0] >= one.box[2]:
        return False
    apart = one.size * _LEADING if one.bold and other.bold else 0.0
    return one.box[1] - other.box[3] < apart and other.box[1] - one.box[3] < apart


def _variants(line: Line) -> list[str]:
    """Return the text, and versions with each possible page number made relative to the page."""
    if _COUNTED.match(line.text):
        return [line.text]
    return [line.text] + [
        f"{line.text[: match.start()]}#{int(match[0]) - line.page_number}{line.text[match.end() :]}"
        for match in _NUMBER.finditer(line.text)
    ]


def _page_numbers(lines: Sequence[Line], pages: Iterable[Sequence[int]]) -> Iterator[int]:
    """Yield outermost lines that are numbers, if the numbers increase with the pages."""
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    count = 0
    for page in pages:
        count += 1
        for place, index in enumerate(_outermost(lines, page)):
            line = lines[index]
            number = re.search(r"\d+", line.text)
            if number and _PAGE_NUMBER.fullmatch(line.text):
                found[place, int(number[0]) - line.page_number].append(index)
    for indices in found.values():
        if len(indices) >= max(_FEWEST_NUMBERS, _PAGE_SHARE * count):
            yield from indices
