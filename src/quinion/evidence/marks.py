"""Boxes of a passage on its page, from its place in the page's text. Pure.

A passage is never searched for: its place is an offset in the text of the page, and the words with
boxes are in the same order. What stands there must be the passage, letter by letter; otherwise its
place is unknown and nothing is marked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from quinion.model.page import (
    HIDDEN,
    STARTS_LINE,
    Box,
    PageSpan,
    PageWords,
    without_spaces,
)

Points = NDArray[np.float64]
_HEIGHTS = (0.25, 0.5, 0.75)
"""A word counts as covered if one of these points of its height is, in the middle of its width."""


@dataclass(frozen=True, slots=True)
class Region:
    """The marks of a passage on one page: a box for each line, in reading order.

    `hidden` are the boxes of words that are invisible on the page. `blocks` are the boxes of lines
    that could be joined without covering other words.
    """

    page: int
    boxes: tuple[Box, ...]
    hidden: tuple[Box, ...] = ()
    blocks: tuple[Box, ...] = ()


def is_passage(text: str, spans: Sequence[PageSpan], pages: Mapping[int, PageWords]) -> bool:
    """Whether the passage stands at these places, letter by letter."""
    found = (pages[one.page].text[one.start : one.end] for one in spans)
    return "".join(found) == without_spaces(text)


def mark(page: int, words: PageWords, spans: Sequence[PageSpan]) -> Region:
    """Return the boxes of the passage on one page; `spans` are its parts of that page."""
    chosen = sorted({index for span in spans for index in words.within(span.start, span.end)})
    visible = [index for index in chosen if not words.flags[index] & HIDDEN]
    hidden = [index for index in chosen if words.flags[index] & HIDDEN]
    others = _points(words, set(chosen))
    boxes = [box for line in _lines(words, visible) for box in _join(words, line, others)]
    hidden_boxes = [box for line in _lines(words, hidden) for box in _join(words, line, others)]
    return Region(page, tuple(boxes), tuple(hidden_boxes), tuple(_join_lines(boxes, others)))


def _lines(words: PageWords, chosen: Sequence[int]) -> Iterator[list[int]]:
    """Group the chosen words by line; words that do not follow each other are separate."""
    line: list[int] = []
    for index in chosen:
        if line and (index != line[-1] + 1 or words.flags[index] & STARTS_LINE):
            yield line
            line = []
        line.append(index)
    if line:
        yield line


def _join(words: PageWords, line: Sequence[int], others: Points) -> Iterator[Box]:
    """Join the boxes of a line's words, except where that would cover other words."""
    box: Box | None = None
    for index in line:
        own = words.boxes[index]
        joined = own if box is None else _union(box, own)
        if box is not None and _covers_more(joined, (box, own), others):
            yield box
            joined = own
        box = joined
    if box is not None:
        yield box


def _join_lines(boxes: Sequence[Box], others: Points) -> Iterator[Box]:
    """Join the boxes of consecutive lines, except where that would cover other words."""
    block: Box | None = None
    for box in boxes:
        joined = box if block is None else _union(block, box)
        if block is not None and _covers_more(joined, (block, box), others):
            yield block
            joined = box
        block = joined
    if block is not None:
        yield block


def _points(words: PageWords, chosen: set[int]) -> Points:
    """Return points of the words that are not chosen, as far as they are among those that are."""
    boxes = np.array([box for index, box in enumerate(words.boxes) if index not in chosen])
    if not len(boxes) or not chosen:
        return np.empty((0, 2))
    middle = (boxes[:, 0] + boxes[:, 2]) / 2
    top, height = boxes[:, 1], boxes[:, 3] - boxes[:, 1]
    points = np.concatenate([np.column_stack((middle, top + at * height)) for at in _HEIGHTS])
    among = reduce(_union, (words.boxes[index] for index in chosen))
    return points[_are_inside(points, among)]


def _covers_more(joined: Box, parts: Sequence[Box], points: Points) -> bool:
    """Whether a box covers points that its parts do not cover."""
    inside = points[_are_inside(points, joined)] if len(points) else points
    return len(inside) > 0 and not all(
        any(left < x < right and top < y < bottom for left, top, right, bottom in parts)
        for x, y in inside
    )


def _are_inside(points: Points, box: Box) -> NDArray[np.bool_]:
    left, top, right, bottom = box
    x, y = points[:, 0], points[:, 1]
    inside: NDArray[np.bool_] = (x > left) & (x < right) & (y > top) & (y < bottom)
    return inside


def _union(one: Box, other: Box) -> Box:
    return (
        min(one[0], other[0]),
        min(one[1], other[1]),
        max(one[2], other[2]),
        max(one[3], other[3]),
    )
