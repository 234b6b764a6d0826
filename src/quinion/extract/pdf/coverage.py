"""Area of a page that rectangles cover, with overlaps counted once. Pure."""

from collections.abc import Iterable
from itertools import pairwise

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 with x0 <= x1 and y0 <= y1."""

# The sweep below takes a second for so many boxes. With more, the bounding box of all is used.
MAX_BOXES = 2_000


def clip(boxes: Iterable[Box], frame: Box) -> list[Box]:
    """Clip the boxes to the frame; boxes without area inside it are omitted."""
    left, top, right, bottom = frame
    clipped = (
        (max(x0, left), max(y0, top), min(x1, right), min(y1, bottom)) for x0, y0, x1, y1 in boxes
    )
    return [box for box in clipped if box[0] < box[2] and box[1] < box[3]]


def union_area(boxes: Iterable[Box]) -> float:
    """The area of the union of the boxes."""
    distinct = set(boxes)
    edges = sorted({x for box in distinct for x in (box[0], box[2])})
    return sum(
        (right - left) * _covered_height(box for box in distinct if box[0] <= left < box[2])
        for left, right in pairwise(edges)
    )


def cover_ratio(boxes: Iterable[Box], frame: Box) -> float:
    """The covered share of the frame, 0 to 1."""
    area = (frame[2] - frame[0]) * (frame[3] - frame[1])
    inside = clip(boxes, frame)
    if len(inside) > MAX_BOXES:
        inside = [bounding_box(inside)]
    return min(1.0, union_area(inside) / area) if area > 0 else 0.0


def bounding_box(boxes: Iterable[Box]) -> Box:
    """The smallest box around all boxes; there must be at least one."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)


def _covered_height(boxes: Iterable[Box]) -> float:
    height, reached = 0.0, float("-inf")
    for top, bottom in sorted((box[1], box[3]) for box in boxes):
        if bottom > reached:
            height += bottom - max(top, reached)
            reached = bottom
    return height
