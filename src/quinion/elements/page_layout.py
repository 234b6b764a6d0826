"""Page layout: rows of text, regions, pictures and grids of cells. Pure data.

A layout is built from a text layer (`text_page`) or from pixels and OCR (`scanned_page`). The
modules that use it depend on neither.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce

from quinion.model.element import Box, Rows


class RegionKind(StrEnum):
    """The layout model's classes of regions."""

    TEXT = "text"
    TITLE = "title"
    HEADING = "section-header"
    LIST_ITEM = "list-item"
    FOOTNOTE = "footnote"
    HEADER = "page-header"
    FOOTER = "page-footer"
    CAPTION = "caption"
    TABLE = "table"
    PICTURE = "picture"
    FORMULA = "formula"


PROSE = frozenset(RegionKind) - {
    RegionKind.CAPTION,
    RegionKind.TABLE,
    RegionKind.PICTURE,
    RegionKind.FORMULA,
}
"""Regions of running text, and headers and footers."""


@dataclass(frozen=True, slots=True)
class TextRow:
    """A horizontal row of text.

    `size` is in points. `font` is empty after OCR. `block` is the number of the paragraph, as far
    as the file has paragraphs. `math` is the share of mathematical letters, 0 to 1.
    """

    text: str
    box: Box
    size: float
    font: str = ""
    block: int = 0
    bold: bool = False
    mono: bool = False
    math: float = 0.0


@dataclass(frozen=True, slots=True)
class Region:
    """A region that the layout model found."""

    kind: RegionKind
    box: Box


@dataclass(frozen=True, slots=True)
class Grid:
    """The cells of a table, and its box."""

    box: Box
    rows: Rows


@dataclass(frozen=True, slots=True)
class Style:
    """The body font of a document; `font` is empty and `size` 0 if unknown."""

    font: str = ""
    size: float = 0.0


@dataclass(frozen=True, slots=True)
class PageLayout:
    """The layout of a page. `pictures` are patches of ink that is not text: images and line work.

    With `from_ocr`, letters may be misread, and fonts are unknown.
    """

    number: int
    frame: Box
    rows: tuple[TextRow, ...]
    regions: tuple[Region, ...] = ()
    pictures: tuple[Box, ...] = ()
    grids: tuple[Grid, ...] = ()
    body: Style = Style()
    from_ocr: bool = False

    def regions_of(self, *kinds: RegionKind) -> list[Region]:
        """The regions of these kinds."""
        return [region for region in self.regions if region.kind in kinds]

    def region_at(self, box: Box) -> Region | None:
        """The region that contains the centre of the box; the smallest if there are several."""
        found = [region for region in self.regions if region.box.holds(box.centre)]
        return min(found, key=lambda region: region.box.area, default=None)


def bounding_box(boxes: Iterable[Box]) -> Box:
    """The smallest box around all boxes; there must be at least one."""
    return reduce(Box.__or__, boxes)


def merge(boxes: Iterable[Box], margin: float) -> list[Box]:
    """Merge boxes that overlap or are no further apart than the margin."""
    merged: list[Box] = []
    for box in boxes:
        combined = box
        while near := [other for other in merged if other.grow(margin + 0.1).overlap(combined) > 0]:
            merged = [other for other in merged if other not in near]
            combined = bounding_box([combined, *near])
        merged.append(combined)
    return merged
