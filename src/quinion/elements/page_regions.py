"""Classify the parts of a page by their role for captions. Pure.

Obstacles are parts that no element extends across: paragraphs, headings, headers and footers.
Bodies are the main parts of elements: patches of ink, tables, pictures. The rest is loose: rows of
text outside of paragraphs, such as the labels of an axis, and small patches.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from quinion.elements.captions import Caption
from quinion.elements.page_layout import PROSE, PageLayout, Region, RegionKind
from quinion.model.element import Box

# Distances in points.
# Minimum side of a body; smaller patches are loose.
SOLID = 36.0
# Maximum height and minimum length of a rule; maximum gap between a table's frame and its caption.
RULE = 4.0
RULE_LENGTH = 100.0
FRAME_GAP = 30.0
# A rule this close to a page header or footer belongs to it.
EDGE_GAP = 20.0
# Maximum overlap of a caption with its element's box.
CAPTION_OVERLAP = 8.0
# Text smaller than the body text by this many points belongs to the element next to it.
SMALL_PRINT = 1.4
# A patch that covers this share of the page is its border.
BORDER = 0.8
# Two boxes are the same if they overlap by this share of the smaller.
SAME = 0.5
# A box is inside another if this share of it is.
INSIDE = 0.7

_EDGES = (RegionKind.HEADER, RegionKind.FOOTER)


@dataclass(frozen=True, slots=True)
class PageRegions:
    """The boxes of a page by role; `tables` and `drawn` are the bodies."""

    tables: tuple[Box, ...]
    drawn: tuple[Box, ...]
    loose: tuple[Box, ...]
    obstacles: tuple[Box, ...]

    @property
    def bodies(self) -> tuple[Box, ...]:
        return self.drawn + self.tables

    def flip(self) -> "PageRegions":
        """Mirror vertically, so that a search downwards becomes a search upwards."""
        return PageRegions(
            tuple(map(flip, self.tables)),
            tuple(map(flip, self.drawn)),
            tuple(map(flip, self.loose)),
            tuple(map(flip, self.obstacles)),
        )

    def without(self, box: Box) -> "PageRegions":
        """Remove the bodies inside an assigned box and make the box an obstacle."""

        def rest(boxes: Iterable[Box]) -> tuple[Box, ...]:
            return tuple(other for other in boxes if other.share_in(box) < SAME)

        obstacles = (*self.obstacles, box)
        return PageRegions(rest(self.tables), rest(self.drawn), rest(self.loose), obstacles)


def find_page_regions(
    layout: PageLayout, captions: Sequence[Caption], *, past_headings: bool = False
) -> PageRegions:
    """Classify the parts of a page; with `past_headings`, headings are not obstacles."""
    regions = find_obstacles(layout, captions)
    margins = _find_margin_rules(layout)
    occupied = [caption.box for caption in captions] + [region.box for region in regions]
    frames = find_frames(layout, captions)
    tables = [region.box for region in layout.regions_of(RegionKind.TABLE)]
    tables += [grid.box for grid in layout.grids] + frames
    patches = [
        patch for patch in layout.pictures if not _is_border(layout, patch) and patch not in margins
    ]
    drawn = [patch for patch in patches if _is_solid(patch)]
    drawn += [region.box for region in layout.regions_of(RegionKind.PICTURE)]
    loose = [patch for patch in patches if not _is_solid(patch)]
    loose += [
        row.box for row in layout.rows if not any(box.holds(row.box.centre) for box in occupied)
    ]
    obstacles = [
        region.box
        for region in regions
        if not (past_headings and region.kind is RegionKind.HEADING)
    ]
    return PageRegions(tuple(tables), tuple(drawn), tuple(loose), (*obstacles, *margins))


def find_obstacles(layout: PageLayout, captions: Sequence[Caption]) -> list[Region]:
    """Find regions of running text that are not part of an element."""
    occupied = [caption.box for caption in captions]
    bodies = [
        patch for patch in layout.pictures if _is_solid(patch) and not _is_border(layout, patch)
    ]
    bodies += find_frames(layout, captions)
    return [
        region
        for region in layout.regions
        if region.kind in PROSE
        and not any(are_same(region.box, box) for box in occupied)
        and (
            region.kind in _EDGES
            or not (_is_inside(region.box, bodies) or _is_lettering(layout, region.box))
        )
    ]


def find_frames(layout: PageLayout, captions: Sequence[Caption]) -> list[Box]:
    """Find tables framed by rules of equal length next to a caption, even if they contain prose."""
    margins = _find_margin_rules(layout)
    rules = [patch for patch in layout.pictures if _is_rule(patch) and patch not in margins]
    frames: list[Box] = []
    for rule in sorted(rules, key=lambda patch: patch.y0):
        frame = next((frame for frame in frames if _is_as_wide(frame, rule)), None)
        between = None if frame is None else replace(frame | rule, y0=frame.y1, y1=rule.y0)
        if between is None or any(between.overlap(caption.box) > 0 for caption in captions):
            frames.insert(0, rule)
        elif frame is not None:
            frames[frames.index(frame)] = frame | rule
    return [
        frame
        for frame in frames
        if frame.height > SOLID / 2
        and any(
            -CAPTION_OVERLAP < _distance(frame, caption.box) < FRAME_GAP for caption in captions
        )
    ]


def flip(box: Box) -> Box:
    """Mirror the box vertically."""
    return Box(box.x0, -box.y1, box.x1, -box.y0)


def are_same(one: Box, other: Box) -> bool:
    """Whether two boxes are the same object, or one is part of the other."""
    return one.overlap(other) > SAME * min(one.area, other.area)


def _find_margin_rules(layout: PageLayout) -> list[Box]:
    """Find rules below the page header and above the page footer."""
    edges = [region.box for region in layout.regions_of(*_EDGES)]
    return [
        patch
        for patch in layout.pictures
        if _is_rule(patch)
        and patch.width > layout.frame.width / 2
        and any(
            max(patch.y0 - edge.y1, edge.y0 - patch.y1) < EDGE_GAP
            and not edge.overlap(patch)
            and (patch.y0 < layout.frame.height / 4 or patch.y1 > layout.frame.height * 3 / 4)
            for edge in edges
        )
    ]


def _is_rule(patch: Box) -> bool:
    return patch.height < RULE and patch.width > RULE_LENGTH


def _is_as_wide(frame: Box, rule: Box) -> bool:
    return abs(frame.x0 - rule.x0) < RULE and abs(frame.x1 - rule.x1) < RULE


def _distance(box: Box, caption: Box) -> float:
    """The vertical distance of a box to a caption above or below it; infinite otherwise."""
    if min(box.x1, caption.x1) - max(box.x0, caption.x0) <= 0:
        return float("inf")
    return max(caption.y0 - box.y1, box.y0 - caption.y1)


def _is_solid(box: Box) -> bool:
    return box.width > SOLID and box.height > SOLID


def _is_border(layout: PageLayout, patch: Box) -> bool:
    return patch.area > BORDER * layout.frame.area


def _is_inside(box: Box, bodies: Iterable[Box]) -> bool:
    return any(box.share_in(body) > INSIDE for body in bodies)


def _is_lettering(layout: PageLayout, box: Box) -> bool:
    """Whether a region is code or small print, which belongs to a figure."""
    rows = [row for row in layout.rows if box.holds(row.box.centre)]
    if not rows:
        return False
    return all(row.mono for row in rows) or (
        layout.body.size > 0 and max(row.size for row in rows) < layout.body.size - SMALL_PRINT
    )
