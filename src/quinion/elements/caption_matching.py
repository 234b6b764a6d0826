"""Captions → boxes: what stands above or below each caption, or beside it. Pure.

From a caption one goes up, and down, through everything that is not a wall. Of both ways the
better is taken, and captions choose in the order of how sure they are.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from quinion.elements.captions import Caption
from quinion.elements.page_layout import Sheet, merge
from quinion.elements.page_regions import (
    FRAME_GAP,
    SAME,
    SOLID,
    TUCK,
    Scene,
    are_one,
    flip,
    set_scene,
)
from quinion.model.element import Box

TABLE = "table"
# Distances in points.
# From a caption to the nearest part of its element, and from that to further parts.
FIRST_GAP = 70.0
FIGURE_GAP = 46.0
TABLE_GAP = 16.0
# Pieces of one table stand no further apart than this.
PIECES = 6.0
# Panels of one figure stand no further apart than this.
PANEL_GAP = 22.0
# Captions this near in height are side by side, if they have no more than this in common.
BESIDE = 120.0
APART = 5.0
# The least height and width of what is worth showing.
LEAST = 10.0
# A wall of which so much would be taken in is swallowed.
SWALLOWED = 0.3

# What counts for a way: the element's size up to this area; for each point of the gap to the
# caption; a body of the right look; another caption that is nearer.
ENOUGH = 40_000.0
GAP_COST = 1.5
RIGHT_LOOK = 80.0
ANOTHERS = 60.0
# That figures have their captions below and tables above, that all captions of a page stand on
# one side, and that one finds nothing there.
HABIT = 15.0
VOTE = 40.0
MISSING = 100.0


@dataclass(frozen=True, slots=True)
class _Way:
    """What was found for a caption in one direction, and how well it fits."""

    box: Box
    score: float


def place_captions(sheet: Sheet, captions: Sequence[Caption]) -> list[Box | None]:
    """For each caption the box of its element; None where there is none to be seen."""
    boxes: list[Box | None] = [None] * len(captions)
    _place(captions, boxes, set_scene(sheet, captions))
    if None in boxes:
        # A heading or a subtitle may stand between a caption and its element.
        _place(captions, boxes, set_scene(sheet, captions, past_headings=True))
    return boxes


def _place(captions: Sequence[Caption], boxes: list[Box | None], scene: Scene) -> None:
    """Fill in the boxes of captions that have none yet, the surest first."""
    for box in boxes:
        scene = scene if box is None else scene.without(box)
    habits = {is_table: _find_habit(is_table, captions, scene) for is_table in (True, False)}

    def look(index: int) -> _Way | None:
        caption = captions[index]
        return _best_way(caption, captions, scene, habits[caption.kind == TABLE])

    found = {index: look(index) for index, box in enumerate(boxes) if box is None}
    ways = {index: way for index, way in found.items() if way is not None}
    while ways:
        index = max(ways, key=lambda key: ways[key].score)
        box = boxes[index] = ways.pop(index).box
        scene = scene.without(box)
        for other in [key for key, way in ways.items() if way.box.overlap(box) > 0]:
            way = look(other)
            if way is None:
                del ways[other]
            else:
                ways[other] = way


def _find_habit(is_table: bool, captions: Sequence[Caption], scene: Scene) -> float:
    """By how much captions of tables (or of others) rather look up than down.

    A document sets all captions of a kind on one side, so captions of one page vote.
    """
    habit = -HABIT if is_table else HABIT
    same = [caption for caption in captions if (caption.kind == TABLE) is is_table]
    if len(same) > 1:
        ways = [_both_ways(caption, captions, scene) for caption in same]
        ups = sum(up.score + habit if up else -MISSING for up, _ in ways)
        downs = sum(down.score - habit if down else -MISSING for _, down in ways)
        habit += VOTE if ups > downs else -VOTE
    return habit


def _best_way(
    caption: Caption, captions: Sequence[Caption], scene: Scene, habit: float
) -> _Way | None:
    up, down = _both_ways(caption, captions, scene)
    ways = [] if up is None else [replace(up, score=up.score + habit)]
    ways += [] if down is None else [replace(down, score=down.score - habit)]
    return max(ways, key=lambda way: way.score, default=None) or _go_aside(caption.box, scene)


def _both_ways(
    caption: Caption, captions: Sequence[Caption], scene: Scene
) -> tuple[_Way | None, _Way | None]:
    others = [other.box for other in captions if other is not caption]
    is_table = caption.kind == TABLE
    up = _go_up(caption.box, others, scene, is_table)
    down = _go_up(flip(caption.box), [flip(box) for box in others], scene.flip(), is_table)
    return up, None if down is None else _Way(flip(down.box), down.score)


def _go_up(caption: Box, others: Sequence[Box], scene: Scene, is_table: bool) -> _Way | None:
    walls = [*scene.walls, *others]
    clipped = [_clip(box, caption, others) for box in scene.solids]
    objects = [box for box in clipped if box is not None]
    objects += [box for box in scene.loose if box.y1 <= caption.y0 + TUCK]
    tables = merge(scene.tables, PIECES)
    anothers = [box for box in tables if _is_anothers(box, caption, others)]
    walls += anothers
    objects = [box for box in objects if not any(are_one(box, other) for other in anothers)]
    box = _climb(caption, objects, walls, TABLE_GAP if is_table else FIGURE_GAP)
    if box is None:
        return None
    box = _widen(box, caption, objects, walls, others)
    box = _divide(box, caption, others)
    if box.height < LEAST or box.width < LEAST:
        return None
    return _Way(box, _score(box, caption, others, scene.tables if is_table else scene.drawn))


def _climb(caption: Box, objects: Sequence[Box], walls: Sequence[Box], step: float) -> Box | None:
    facing = [box for box in objects if _faces(box, caption)]
    facing.sort(key=lambda box: caption.y0 - box.y1)
    found: Box | None = None
    for box in facing:
        lower = caption if found is None else found
        if lower.y0 - box.y1 > (FIRST_GAP if found is None else step):
            break
        if _is_walled_off(box, lower, walls):
            if found is None:
                continue
            break
        taken = box if found is None else found | box
        if not _swallows(taken, found, box, walls):
            found = taken
    return found


def _widen(
    box: Box, caption: Box, objects: Sequence[Box], walls: Sequence[Box], others: Sequence[Box]
) -> Box:
    """Take in what stands level with the box: further panels, labels beside an axis."""
    changed = True
    while changed:
        changed = False
        for other in objects:
            if other.share_in(box) == 1.0 or not _is_level(other, box):
                continue
            taken = box | other
            if taken == box or _swallows(taken, box, other, walls):
                continue
            if not _belongs_elsewhere(other, caption, others):
                box, changed = taken, True
    return box


def _divide(box: Box, caption: Box, others: Sequence[Box]) -> Box:
    """Where captions stand side by side, each has its part."""
    for other in others:
        are_apart = _common_width(other, caption) < APART
        reaches = _common_width(box, other) > SWALLOWED * other.width
        if not are_apart or not reaches or abs(other.y0 - caption.y0) > BESIDE:
            continue
        if other.x0 >= caption.x1 - APART:
            box = replace(box, x1=min(box.x1, (caption.x1 + other.x0) / 2))
        else:
            box = replace(box, x0=max(box.x0, (caption.x0 + other.x1) / 2))
    return box


def _score(box: Box, caption: Box, others: Sequence[Box], wanted: Sequence[Box]) -> float:
    gap = max(0.0, caption.y0 - box.y1)
    score = math.sqrt(min(box.area, ENOUGH)) - GAP_COST * gap
    if any(body.share_in(box) > SAME for body in wanted):
        score += RIGHT_LOOK
    for other in others:
        if _common_width(other, box) > LEAST and -APART <= box.y0 - other.y1 < gap:
            score -= ANOTHERS
    return score


def _go_aside(caption: Box, scene: Scene) -> _Way | None:
    """A caption in the margin, or next to a small figure."""

    def distance(box: Box) -> float:
        return max(caption.x0 - box.x1, box.x0 - caption.x1)

    beside = [
        box
        for box in scene.solids
        if min(box.y1, caption.y1) - max(box.y0, caption.y0) > min(caption.height, LEAST) / 2
        and -TUCK < distance(box) < FIRST_GAP
    ]
    nearest = min(beside, key=distance, default=None)
    return None if nearest is None else _Way(nearest, 0.0)


def _clip(box: Box, caption: Box, others: Iterable[Box]) -> Box | None:
    """The part of a box above the caption and below other captions that stand in it."""
    inside = [other.y1 for other in others if other.share_in(box) > SAME and other.y1 <= caption.y0]
    if inside:
        box = replace(box, y0=max(inside))
        if box.height < LEAST:
            return None
    if box.y1 <= caption.y0 + TUCK:
        return box
    above = replace(box, y1=caption.y0)
    is_within = box.x0 - TUCK <= caption.x0 and caption.x1 <= box.x1 + TUCK
    return above if is_within and above.height > SOLID else None


def _is_anothers(table: Box, caption: Box, others: Iterable[Box]) -> bool:
    """Whether a table stands much nearer to a caption on its far side."""
    far = [table.y0 - other.y1 for other in others if _faces(other, table)]
    near = caption.y0 - table.y1
    return any(-TUCK < distance < near - FRAME_GAP for distance in far)


def _faces(box: Box, caption: Box) -> bool:
    return _common_width(box, caption) > 0.15 * min(box.width, caption.width)


def _is_walled_off(box: Box, lower: Box, walls: Iterable[Box]) -> bool:
    return any(
        wall.y1 > box.y1 + 2
        and wall.y0 < lower.y0 - 2
        and (_is_across(wall, box) or _is_across(wall, lower))
        for wall in walls
    )


def _is_across(wall: Box, box: Box) -> bool:
    return _common_width(wall, box) > SWALLOWED * min(wall.width, box.width)


def _swallows(taken: Box, before: Box | None, new: Box, walls: Iterable[Box]) -> bool:
    """Whether a box would take in a wall that neither of its parts has in it."""
    return any(
        wall.share_in(taken) > SWALLOWED
        and wall.share_in(new) < SWALLOWED
        and (before is None or wall.share_in(before) < SWALLOWED)
        for wall in walls
    )


def _is_level(one: Box, other: Box) -> bool:
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return height > min(one.height, other.height) / 2 and -_common_width(one, other) < PANEL_GAP


def _belongs_elsewhere(box: Box, caption: Box, others: Iterable[Box]) -> bool:
    return any(
        _common_width(box, other) > min(box.width, other.width) / 2
        and _common_width(box, caption) < SWALLOWED * box.width
        and abs(other.y0 - caption.y0) < BESIDE
        for other in others
    )


def _common_width(one: Box, other: Box) -> float:
    """How much of their widths two boxes share; negative is how far they are apart."""
    return min(one.x1, other.x1) - max(one.x0, other.x0)
