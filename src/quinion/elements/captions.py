"""Find the captions of a page, with their labels and kinds. Pure.

A caption begins a paragraph with a kind and a number, and continues like a title. A mention in
running text ("Table 3 shows …") lacks one of these. An entry of a list of figures ends in a page
number.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from quinion.elements.page_layout import PROSE, PageLayout, RegionKind, TextRow, bounding_box
from quinion.model.element import Box, fold_label

_NUMBER = (
    r"(?:(?:[A-Z]{1,2}[.\-–]?)?\d+(?:[.\-–]\d+)*(?:[a-z]\b|\s?\([a-z]\))?"
    r"|[IVXLC]+\b|[A-Z](?=\s*[.:]))"
)
# Words that with a number rarely begin a sentence, and words that often do.
_PLAIN_KINDS = r"table|tab\.|figure|fig\.?|plate|exhibit|algorithm|listing"
_LOOSE_KINDS = r"schedule|chart|graph|diagram|scheme|box|map|photo(?:graph)?|illustration|image"
_CAPTION = re.compile(
    rf"^\W{{0,2}}(?P<kind>{_PLAIN_KINDS}|{_LOOSE_KINDS})\s*(?P<number>{_NUMBER})"
    r"(?P<mark>\s*(?:[.:|]|[,.]?[–—]|-(?=\s|-))|(?![\w]))\s*(?P<rest>.*)$",
    re.IGNORECASE,
)
_LOOSE = re.compile(_LOOSE_KINDS, re.IGNORECASE)
_UPPER_NUMBER = re.compile(r"[IVXLC]+|[A-Z]")
# The continuation of a sentence that mentions an element.
_MENTION = re.compile(
    r"(?:[a-z]|[,;)\]]|\((?!continued|cont|[a-z]\)))|(?:and|or|to|in|is|are|was|shows?)\b"
)
_CONTINUED = re.compile(r"^\W*(?:continued|contd?|cont'd|cont\.)", re.IGNORECASE)
# Leaders before a page number: dots, dashes or spaces, in all variants that OCR produces.
_LEADER = re.compile(r"(?:[.…·_\-–—]\s?){4,}\s*(?:\w{1,5}[.,]?)?$")
_PAGE_NUMBER = re.compile(r"[\divxlc]{1,5}", re.IGNORECASE)
_ENDS_IN_NUMBER = re.compile(r"(?:^|\s)\d{1,4}$")
_LIST_HEADING = re.compile(
    r"^\W*(?:(?:list|table|index) of (?:figures|tables|illustrations|plates|maps|contents|charts"
    r"|boxes)|contents|illustrations|tables|figures|(?:tables|figures) and (?:tables|figures))\W*$",
    re.IGNORECASE,
)
# A list of figures has at least so many entries,
_LIST_ENTRIES = 3
# and its heading is among so many rows at the top of the page.
_TOP_ROWS = 12
# The maximum number of rows of a caption; more rows are running text.
_MAX_ROWS = 14
# The maximum gap between rows of one paragraph, relative to their size.
_LEADING = 0.65
_SIZE_STEP = 0.6
# Rows side by side are on one line if their gap is smaller than this, relative to their size.
_NEAR = 6.0
# The maximum distance, in points, of a caption inside its table's region from the region's edge.
_EDGE = 30.0


@dataclass(frozen=True, slots=True)
class Caption:
    """A caption: `label` as written, `kind` its normalized first word, `text` its full text."""

    label: str
    kind: str
    text: str
    box: Box
    rows: tuple[TextRow, ...]


def find_captions(layout: PageLayout) -> list[Caption]:
    """Find the captions of a page, in the order of its rows."""
    found: list[Caption] = []
    for index, row in enumerate(layout.rows):
        match = _CAPTION.match(row.text)
        if match and not _is_entry(layout, row) and _is_caption(layout, row, match):
            found.append(_build(layout, index, match))
    return _drop_repeats(found)


def begins_caption(text: str) -> bool:
    """Whether a row begins like a caption."""
    return _CAPTION.match(text) is not None


def _is_caption(layout: PageLayout, row: TextRow, match: re.Match[str]) -> bool:
    mark, rest = match["mark"].strip(), match["rest"]
    if _is_lower_roman(match) or not _begins_paragraph(layout, row):
        return False
    region = layout.region_at(row.box)
    kind = region.kind if region else None
    styled = _is_styled(layout, row)
    goes_on = bool(_MENTION.match(rest)) and not _CONTINUED.match(rest)
    if goes_on and not mark and not (rest.startswith("(") and styled):
        return False
    if region is not None and region.kind is RegionKind.TABLE and not (mark and styled):
        inside = region.box
        if row.box.y0 - inside.y0 > _EDGE and inside.y1 - row.box.y1 > _EDGE:
            return False
    titled = bool(mark) or not rest or not rest[0].islower() or bool(_CONTINUED.match(rest))
    is_sure = kind is RegionKind.CAPTION or (not rest and _stands_alone(layout, row))
    if _LOOSE.fullmatch(match["kind"]):
        return titled and (is_sure or (styled and bool(mark)))
    return titled and (is_sure or styled or bool(mark))


def _stands_alone(layout: PageLayout, row: TextRow) -> bool:
    """Whether no other row is near on the same line."""
    return not any(
        other is not row
        and _are_level(row, other)
        and max(row.box.x0 - other.box.x1, other.box.x0 - row.box.x1) < _NEAR * row.size
        for other in layout.rows
    )


def _is_lower_roman(match: re.Match[str]) -> bool:
    # The pattern ignores case, but the "i" of "table i" or the "c" of "figure c" is not a number.
    number = match["number"]
    return number.isalpha() and not _UPPER_NUMBER.fullmatch(number)


def _is_styled(layout: PageLayout, row: TextRow) -> bool:
    if not layout.body.size:
        return False
    return row.bold or row.font != layout.body.font or abs(row.size - layout.body.size) > _SIZE_STEP


def _begins_paragraph(layout: PageLayout, row: TextRow) -> bool:
    """Whether no sentence continues into this row from above or from the left."""
    for other in layout.rows:
        if other is row:
            continue
        if (
            _are_level(row, other)
            and 0 <= row.box.x0 - other.box.x1 < row.size
            and other.text[-1:].isalpha()
        ):
            return False
    above = _row_above(layout.rows, row)
    if above is None or row.box.y0 - above.box.y1 > _LEADING * row.size:
        return True
    if abs(above.size - row.size) > _SIZE_STEP or above.bold != row.bold:
        return True
    if above.font != row.font or begins_caption(above.text):
        return True
    if above.text.rstrip()[-1:] in ".:!?" or above.box.x1 < row.box.x1 - 8 * row.size:
        return True
    region, other_region = layout.region_at(row.box), layout.region_at(above.box)
    return region is not None and region.kind is RegionKind.CAPTION and region != other_region


def _row_above(rows: Sequence[TextRow], row: TextRow) -> TextRow | None:
    def reach(other: TextRow) -> float:
        return min(row.box.x1, other.box.x1) - max(row.box.x0, other.box.x0)

    above = [
        other
        for other in rows
        if other is not row and other.box.y1 < row.box.y1 - row.size / 2 and reach(other) > 0
    ]
    return max(above, key=lambda other: other.box.y1, default=None)


def is_list(layout: PageLayout) -> bool:
    """Whether the page is a list of figures or tables."""
    entries = sum(1 for row in layout.rows if begins_caption(row.text) and _is_entry(layout, row))
    if entries >= _LIST_ENTRIES:
        return True
    if not any(_LIST_HEADING.match(row.text) for row in layout.rows[:_TOP_ROWS]):
        return False
    leaders = sum(1 for row in layout.rows if _LEADER.search(row.text))
    numbers = sum(
        1
        for row in layout.rows
        if _ENDS_IN_NUMBER.search(row.text) and _stands_alone_at_right(layout, row)
    )
    return entries + leaders >= _LIST_ENTRIES or numbers >= 2 * _LIST_ENTRIES


def _is_entry(layout: PageLayout, row: TextRow) -> bool:
    """Whether a row ends in a page number, itself or with a piece at the far right."""
    if _LEADER.search(row.text):
        return True
    for other in layout.rows:
        if other is row or not _are_level(row, other):
            continue
        if other.box.x0 > row.box.x1 + 2 * row.size and (
            _PAGE_NUMBER.fullmatch(other.text) or _LEADER.search(other.text)
        ):
            return _stands_alone_at_right(layout, other)
    return False


def _stands_alone_at_right(layout: PageLayout, number: TextRow) -> bool:
    # A page number is at the right edge; a table's cell beside a caption rarely is.
    edge = max((row.box.x1 for row in layout.rows), default=number.box.x1)
    return edge - number.box.x1 < 2 * number.size


def _build(layout: PageLayout, index: int, match: re.Match[str]) -> Caption:
    rows = [layout.rows[index]]
    for row in layout.rows[index + 1 :]:
        if len(rows) == _MAX_ROWS or not _continues(layout, rows, row):
            break
        rows.append(row)
    label = " ".join(f"{match['kind']} {match['number']}".split())
    text = " ".join(row.text for row in rows)
    kind = fold_label(label).split(" ", maxsplit=1)[0]
    return Caption(label, kind, text, bounding_box(row.box for row in rows), tuple(rows))


def _continues(layout: PageLayout, rows: Sequence[TextRow], row: TextRow) -> bool:
    """Whether a caption of these rows continues with this row."""
    first, last = rows[0], rows[-1]
    if begins_caption(row.text) or abs(row.size - first.size) > _SIZE_STEP:
        return False
    if _are_level(row, last):
        return 0 <= row.box.x0 - last.box.x1 < 3 * row.size
    gap = row.box.y0 - last.box.y1
    combined = bounding_box(piece.box for piece in rows)
    overlaps = min(combined.x1, row.box.x1) > max(combined.x0, row.box.x0)
    is_next = overlaps and -row.size / 2 < gap < _LEADING * row.size
    return is_next and _is_same_paragraph(layout, rows, row)


def _is_same_paragraph(layout: PageLayout, rows: Sequence[TextRow], row: TextRow) -> bool:
    first, last = rows[0], rows[-1]
    here, there = layout.region_at(first.box), layout.region_at(row.box)
    if there is not None and there.kind in (RegionKind.TABLE, RegionKind.PICTURE):
        return here == there and row.block == last.block
    if here is not None and here == there:
        return here.kind is RegionKind.CAPTION or row.font == last.font or row.block == last.block
    if here is not None and there is not None and there.kind in PROSE:
        return False
    return row.font == last.font and row.bold == last.bold


def _are_level(one: TextRow, other: TextRow) -> bool:
    shared = min(one.box.y1, other.box.y1) - max(one.box.y0, other.box.y0)
    return shared > min(one.box.height, other.box.height) / 2


def _drop_repeats(captions: Sequence[Caption]) -> list[Caption]:
    """Drop repeated captions: some files print them twice to look bold."""
    kept: list[Caption] = []
    for caption in captions:
        if not any(
            fold_label(caption.label) == fold_label(other.label)
            and caption.box.overlap(other.box) > 0
            for other in kept
        ):
            kept.append(caption)
    return kept
