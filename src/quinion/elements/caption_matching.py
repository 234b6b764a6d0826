"""Match captions to the boxes of their elements: above, below or beside the caption. Pure.

From each caption the search collects boxes upwards and downwards until it meets an obstacle. The
direction with the better score wins. Captions are matched in order of score, highest first.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from quinion.elements.captions import Caption
from quinion.elements.page_layout import PageLayout, merge
from quinion.elements.page_regions import (
    CAPTION_OVERLAP,
    FRAME_GAP,
    SAME,
    SOLID,
    PageRegions,
    are_same,
    find_page_regions,
    flip,
)
from quinion.model.element import Box

TABLE = "table"
# Distances in points.
# Maximum gap between a caption and the nearest part of its element, and between further parts.
FIRST_GAP = 70.0
FIGURE_GAP = 46.0
TABLE_GAP = 16.0
# Maximum gap between pieces of one table.
PIECE_GAP = 6.0
# Maximum gap between panels of one figure.
PANEL_GAP = 22.0
# Captions are side by side if their tops differ, and their widths overlap, by less than this.
MAX_LEVEL_DIFFERENCE = 120.0
MAX_COMMON_WIDTH = 5.0
# Minimum height and width of an element.
MIN_SIDE = 10.0
# A box must not cover more than this share of an obstacle.
MAX_OBSTACLE_COVER = 0.3

# Terms of a candidate's score: its area, up to a maximum; a cost per point of gap to the caption; a
# bonus for a body of the expected type; a penalty for another caption that is nearer.
MAX_SCORED_AREA = 40_000.0
GAP_COST = 1.5
TYPE_MATCH_BONUS = 80.0
NEARER_CAPTION_PENALTY = 60.0
# Bias for figure captions below and table captions above; bias for the side that most captions of
# the page vote for; penalty for a caption that finds nothing on a side.
DEFAULT_BIAS = 15.0
VOTE_BIAS = 40.0
MISSING_PENALTY = 100.0


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A possible element box for a caption, and its score."""

    box: Box
    score: float


def place_captions(layout: PageLayout, captions: Sequence[Caption]) -> list[Box | None]:
    """Find the box of each caption's element; None if there is none."""
    boxes: list[Box | None] = [None] * len(captions)
    _place(captions, boxes, find_page_regions(layout, captions))
    if None in boxes:
        # A heading or a subtitle may stand between a caption and its element.
        _place(captions, boxes, find_page_regions(layout, captions, past_headings=True))
    return boxes


def _place(captions: Sequence[Caption], boxes: list[Box | None], regions: PageRegions) -> None:
    """Fill in the missing boxes, the caption with the highest score first."""
    for box in boxes:
        regions = regions if box is None else regions.without(box)
    biases = {is_table: _direction_bias(is_table, captions, regions) for is_table in (True, False)}

    def search(index: int) -> _Candidate | None:
        caption = captions[index]
        return _best_candidate(caption, captions, regions, biases[caption.kind == TABLE])

    found = {index: search(index) for index, box in enumerate(boxes) if box is None}
    candidates = {index: candidate for index, candidate in found.items() if candidate is not None}
    while candidates:
        index = max(candidates, key=lambda key: candidates[key].score)
        box = boxes[index] = candidates.pop(index).box
        regions = regions.without(box)
        for other in [
            key for key, candidate in candidates.items() if candidate.box.overlap(box) > 0
        ]:
            candidate = search(other)
            if candidate is None:
                del candidates[other]
            else:
                candidates[other] = candidate


def _direction_bias(is_table: bool, captions: Sequence[Caption], regions: PageRegions) -> float:
    """The score bonus of upwards over downwards, for captions of tables (or of others).

    A document places all captions of a kind on the same side, so the captions of a page vote.
    """
    bias = -DEFAULT_BIAS if is_table else DEFAULT_BIAS
    same = [caption for caption in captions if (caption.kind == TABLE) is is_table]
    if len(same) > 1:
        candidates = [_search_both(caption, captions, regions) for caption in same]
        ups = sum(up.score + bias if up else -MISSING_PENALTY for up, _ in candidates)
        downs = sum(down.score - bias if down else -MISSING_PENALTY for _, down in candidates)
        bias += VOTE_BIAS if ups > downs else -VOTE_BIAS
    return bias


def _best_candidate(
    caption: Caption, captions: Sequence[Caption], regions: PageRegions, bias: float
) -> _Candidate | None:
    up, down = _search_both(caption, captions, regions)
    candidates = [] if up is None else [replace(up, score=up.score + bias)]
    candidates += [] if down is None else [replace(down, score=down.score - bias)]
    return max(candidates, key=lambda candidate: candidate.score, default=None) or _search_sideways(
        caption.box, regions
    )


def _search_both(
    caption: Caption, captions: Sequence[Caption], regions: PageRegions
) -> tuple[_Candidate | None, _Candidate | None]:
    others = [other.box for other in captions if other is not caption]
    is_table = caption.kind == TABLE
    up = _search_up(caption.box, others, regions, is_table)
    down = _search_up(flip(caption.box), [flip(box) for box in others], regions.flip(), is_table)
    return up, None if down is None else _Candidate(flip(down.box), down.score)


def _search_up(
    caption: Box, others: Sequence[Box], regions: PageRegions, is_table: bool
) -> _Candidate | None:
    obstacles = [*regions.obstacles, *others]
    clipped = [_clip(box, caption, others) for box in regions.bodies]
    objects = [box for box in clipped if box is not None]
    objects += [box for box in regions.loose if box.y1 <= caption.y0 + CAPTION_OVERLAP]
    tables = merge(regions.tables, PIECE_GAP)
    assigned_elsewhere = [box for box in tables if _belongs_to_other_caption(box, caption, others)]
    obstacles += assigned_elsewhere
    objects = [
        box for box in objects if not any(are_same(box, other) for other in assigned_elsewhere)
    ]
    box = _collect_upwards(caption, objects, obstacles, TABLE_GAP if is_table else FIGURE_GAP)
    if box is None:
        return None
    box = _widen(box, caption, objects, obstacles, others)
    box = _cut_at_neighbours(box, caption, others)
    if box.height < MIN_SIDE or box.width < MIN_SIDE:
        return None
    return _Candidate(
        box, _score(box, caption, others, regions.tables if is_table else regions.drawn)
    )


def _collect_upwards(
    caption: Box, objects: Sequence[Box], obstacles: Sequence[Box], step: float
) -> Box | None:
    facing = [box for box in objects if _faces(box, caption)]
    facing.sort(key=lambda box: caption.y0 - box.y1)
    found: Box | None = None
    for box in facing:
        lower = caption if found is None else found
        if lower.y0 - box.y1 > (FIRST_GAP if found is None else step):
            break
        if _is_blocked(box, lower, obstacles):
            if found is None:
                continue
            break
        extended = box if found is None else found | box
        if not _would_cover(extended, found, box, obstacles):
            found = extended
    return found


def _widen(
    box: Box, caption: Box, objects: Sequence[Box], obstacles: Sequence[Box], others: Sequence[Box]
) -> Box:
    """Extend the box to objects at its level: further panels, labels beside an axis."""
    changed = True
    while changed:
        changed = False
        for other in objects:
            if other.share_in(box) == 1.0 or not _is_level(other, box):
                continue
            extended = box | other
            if extended == box or _would_cover(extended, box, other, obstacles):
                continue
            if not _belongs_elsewhere(other, caption, others):
                box, changed = extended, True
    return box


def _cut_at_neighbours(box: Box, caption: Box, others: Sequence[Box]) -> Box:
    """Cut the box halfway to captions beside this one."""
    for other in others:
        are_apart = _common_width(other, caption) < MAX_COMMON_WIDTH
        reaches = _common_width(box, other) > MAX_OBSTACLE_COVER * other.width
        if not are_apart or not reaches or abs(other.y0 - caption.y0) > MAX_LEVEL_DIFFERENCE:
            continue
        if other.x0 >= caption.x1 - MAX_COMMON_WIDTH:
            box = replace(box, x1=min(box.x1, (caption.x1 + other.x0) / 2))
        else:
            box = replace(box, x0=max(box.x0, (caption.x0 + other.x1) / 2))
    return box


def _score(box: Box, caption: Box, others: Sequence[Box], wanted: Sequence[Box]) -> float:
    gap = max(0.0, caption.y0 - box.y1)
    score = math.sqrt(min(box.area, MAX_SCORED_AREA)) - GAP_COST * gap
    if any(body.share_in(box) > SAME for body in wanted):
        score += TYPE_MATCH_BONUS
    for other in others:
        if _common_width(other, box) > MIN_SIDE and -MAX_COMMON_WIDTH <= box.y0 - other.y1 < gap:
            score -= NEARER_CAPTION_PENALTY
    return score


def _search_sideways(caption: Box, regions: PageRegions) -> _Candidate | None:
    """Find the element beside a caption in the margin or next to a small figure."""

    def distance(box: Box) -> float:
        return max(caption.x0 - box.x1, box.x0 - caption.x1)

    beside = [
        box
        for box in regions.bodies
        if min(box.y1, caption.y1) - max(box.y0, caption.y0) > min(caption.height, MIN_SIDE) / 2
        and -CAPTION_OVERLAP < distance(box) < FIRST_GAP
    ]
    nearest = min(beside, key=distance, default=None)
    return None if nearest is None else _Candidate(nearest, 0.0)


def _clip(box: Box, caption: Box, others: Iterable[Box]) -> Box | None:
    """Clip a box to the part above the caption and below other captions inside it."""
    inside = [other.y1 for other in others if other.share_in(box) > SAME and other.y1 <= caption.y0]
    if inside:
        box = replace(box, y0=max(inside))
        if box.height < MIN_SIDE:
            return None
    if box.y1 <= caption.y0 + CAPTION_OVERLAP:
        return box
    above = replace(box, y1=caption.y0)
    is_within = box.x0 - CAPTION_OVERLAP <= caption.x0 and caption.x1 <= box.x1 + CAPTION_OVERLAP
    return above if is_within and above.height > SOLID else None


def _belongs_to_other_caption(table: Box, caption: Box, others: Iterable[Box]) -> bool:
    """Whether a table is much closer to a caption on its far side."""
    far = [table.y0 - other.y1 for other in others if _faces(other, table)]
    near = caption.y0 - table.y1
    return any(-CAPTION_OVERLAP < distance < near - FRAME_GAP for distance in far)


def _faces(box: Box, caption: Box) -> bool:
    return _common_width(box, caption) > 0.15 * min(box.width, caption.width)


def _is_blocked(box: Box, lower: Box, obstacles: Iterable[Box]) -> bool:
    return any(
        obstacle.y1 > box.y1 + 2
        and obstacle.y0 < lower.y0 - 2
        and (_is_across(obstacle, box) or _is_across(obstacle, lower))
        for obstacle in obstacles
    )


def _is_across(obstacle: Box, box: Box) -> bool:
    return _common_width(obstacle, box) > MAX_OBSTACLE_COVER * min(obstacle.width, box.width)


def _would_cover(extended: Box, before: Box | None, new: Box, obstacles: Iterable[Box]) -> bool:
    """Whether the combined box would cover an obstacle that neither of its parts covers."""
    return any(
        obstacle.share_in(extended) > MAX_OBSTACLE_COVER
        and obstacle.share_in(new) < MAX_OBSTACLE_COVER
        and (before is None or obstacle.share_in(before) < MAX_OBSTACLE_COVER)
        for obstacle in obstacles
    )


def _is_level(one: Box, other: Box) -> bool:
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return height > min(one.height, other.height) / 2 and -_common_width(one, other) < PANEL_GAP


def _belongs_elsewhere(box: Box, caption: Box, others: Iterable[Box]) -> bool:
    return any(
        _common_width(box, other) > min(box.width, other.width) / 2
        and _common_width(box, caption) < MAX_OBSTACLE_COVER * box.width
        and abs(other.y0 - caption.y0) < MAX_LEVEL_DIFFERENCE
        for other in others
    )


def _common_width(one: Box, other: Box) -> float:
    """The horizontal overlap of two boxes; if negative, their distance."""
    return min(one.x1, other.x1) - max(one.x0, other.x0)
