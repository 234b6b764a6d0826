"""The parts of a page, sorted by what they can be to a caption. Pure.

Walls are what no element reaches across: paragraphs, headings, the edges of the page. Solids
are the bodies of elements: patches of ink, tables, pictures. The rest is loose: rows of text
that belong to no paragraph, such as the labels of an axis, and small patches.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from quinion.elements.captions import Caption
from quinion.elements.page_layout import PROSE, PageLayout, Region, RegionKind
from quinion.model.element import Box

# Distances in points.
# Patches and regions from this side on are an element's body and not its trimmings.
SOLID = 36.0
# A rule is no higher, and no shorter. Where it frames a table, a caption is this near.
RULE = 4.0
RULE_LENGTH = 100.0
FRAME_GAP = 30.0
# A rule this near to a page's header or footer belongs to it.
EDGE_GAP = 20.0
# A caption may reach this far into its element's box.
CAPTION_OVERLAP = 8.0
# Text smaller than the body's by this many points belongs to what it stands next to.
SMALL_PRINT = 1.4
# A patch that covers so much of the page is its border.
BORDER = 0.8
# Of two boxes that have so much of the smaller in common, each is the other.
SAME = 0.5
# What lies in another box by so much is inside.
INSIDE = 0.7

_EDGES = (RegionKind.HEADER, RegionKind.FOOTER)


@dataclass(frozen=True, slots=True)
class PageRegions:
    """`tables` and `drawn` are the bodies, by what they look like."""

    tables: tuple[Box, ...]
    drawn: tuple[Box, ...]
    loose: tuple[Box, ...]
    obstacles: tuple[Box, ...]

    @property
    def bodies(self) -> tuple[Box, ...]:
        return self.drawn + self.tables

    def flip(self) -> "PageRegions":
        """Upside down, so that going down is going up."""
        return PageRegions(
            tuple(map(flip, self.tables)),
            tuple(map(flip, self.drawn)),
            tuple(map(flip, self.loose)),
            tuple(map(flip, self.obstacles)),
        )

    def without(self, box: Box) -> "PageRegions":
        """What is left for others when one has taken this box: it is a obstacle for them."""

        def rest(boxes: Iterable[Box]) -> tuple[Box, ...]:
            return tuple(other for other in boxes if other.share_in(box) < SAME)

        obstacles = (*self.obstacles, box)
        return PageRegions(rest(self.tables), rest(self.drawn), rest(self.loose), obstacles)


def find_page_regions(
    layout: PageLayout, captions: Sequence[Caption], *, past_headings: bool = False
) -> PageRegions:
    """The regions of a page; headings are no obstacles if one may look past them."""
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
    """Regions of running text, without what is part of an element."""
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
    """What stands between rules of one length, next to a caption: a table, though it be prose."""
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
    """The box with the page upside down."""
    return Box(box.x0, -box.y1, box.x1, -box.y0)


def are_same(one: Box, other: Box) -> bool:
    """Whether two boxes mean the same thing, or one is a part of the other."""
    return one.overlap(other) > SAME * min(one.area, other.area)


def _find_margin_rules(layout: PageLayout) -> list[Box]:
    """Rules under a page's header and over its footer."""
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
    """From a box to a caption above or below it; far where it is neither."""
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
    """Whether a region is code or small print: part of a figure rather than running text."""
    rows = [row for row in layout.rows if box.holds(row.box.centre)]
    if not rows:
        return False
    return all(row.mono for row in rows) or (
        layout.body.size > 0 and max(row.size for row in rows) < layout.body.size - SMALL_PRINT
    )
