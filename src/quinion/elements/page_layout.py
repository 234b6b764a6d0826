"""A page as this stage sees it: rows of text, regions, pictures and grids of cells. Pure data.

A layout is made from a text layer (`layer`) or from pixels and OCR (`scan`); from there on
nothing knows which it was.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce

from quinion.model.element import Box, Rows


class RegionKind(StrEnum):
    """What the layout model calls a part of a page."""

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
"""What is there to be read from line to line, or stands at the edge of the page."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of text that runs from left to right.

    `size` is in points. `font` is empty after OCR. `block` tells paragraphs apart, as far as
    the file does. `math` is the part of its letters that are set as mathematics, 0 to 1.
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
    kind: RegionKind
    box: Box


@dataclass(frozen=True, slots=True)
class Grid:
    """The cells of a table, and where it stands."""

    box: Box
    rows: Rows


@dataclass(frozen=True, slots=True)
class Style:
    """How most of a document's text is set; `font` is empty and `size` 0 where none is known."""

    font: str = ""
    size: float = 0.0


@dataclass(frozen=True, slots=True)
class PageLayout:
    """A page. `pictures` are patches of ink that is not text: images and line work.

    `from_ocr` says that letters may be misread, and that nothing is known of fonts.
    """

    number: int
    frame: Box
    rows: tuple[Row, ...]
    regions: tuple[Region, ...] = ()
    pictures: tuple[Box, ...] = ()
    grids: tuple[Grid, ...] = ()
    body: Style = Style()
    from_ocr: bool = False

    def regions_of(self, *kinds: RegionKind) -> list[Region]:
        """The regions of these kinds."""
        return [region for region in self.regions if region.kind in kinds]

    def region_at(self, box: Box) -> Region | None:
        """The region that the middle of the box lies in; the smallest where there are several."""
        found = [region for region in self.regions if region.box.holds(box.centre)]
        return min(found, key=lambda region: region.box.area, default=None)


def bounding_box(boxes: Iterable[Box]) -> Box:
    """The smallest box around all of them, of which there must be one at least."""
    return reduce(Box.__or__, boxes)


def merge(boxes: Iterable[Box], margin: float) -> list[Box]:
    """Boxes that overlap, or are no further apart than the margin, as one."""
    merged: list[Box] = []
    for box in boxes:
        combined = box
        while near := [other for other in merged if other.grow(margin + 0.1).overlap(combined) > 0]:
            merged = [other for other in merged if other not in near]
            combined = bounding_box([combined, *near])
        merged.append(combined)
    return merged
