"""Where a page has ink that is not text: the patches that figures are made of.

A page is looked at with one pixel to the point and through a coarse grid; cells with ink that
touch are one patch. So thousands of strokes of a map cost what one photograph does, what is
drawn in white or clipped away is not there, and a scan and a page of vectors are the same.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from quinion.model.element import Box

# A pixel is ink when it differs so much from the paper (of 255). On a clean page charts have
# pale areas; on a scan paper has shades.
CONTRAST = 24
SCAN_CONTRAST = 36
# The side of a cell in points. Patches nearer than one to two cells are one.
CELL = 4
# Patches smaller than this on both sides are dots, bullets and leftovers of letters.
SPECK = 6.0
# Text is blotted out with this margin: letters reach over their boxes.
MARGIN = 1.5
# So many points at the edge of a page show where the paper ended in the scanner.
EDGE = 3

# What is longer than this part of a side, and thinner than the rest of the other, is a strip.
STRIP = 0.8
_DARK = 128

Mask = NDArray[np.bool_]


def find_patches(
    pixels: NDArray[np.uint8],
    text: Iterable[Box],
    contrast: int = CONTRAST,
) -> list[Box]:
    """Boxes around what is neither paper nor text.

    `pixels` is the page in shades of grey, one pixel to the point. Where images are placed does
    not matter: often they are clipped, or are white, or cover the whole page in bands.
    """
    ink = _find_ink(pixels, contrast)
    for box in text:
        _erase(ink, box.grow(MARGIN))
    _erase_edges(ink)
    patches = (_tighten(patch, ink) for patch in _components(_to_cells(ink)))
    height, width = pixels.shape
    return [
        patch
        for patch in patches
        if max(patch.width, patch.height) > SPECK and not _is_strip(patch, width, height)
    ]


def _is_strip(patch: Box, width: int, height: int) -> bool:
    """Whether a patch runs along a whole side of the page: decoration, or a scanner's shadow."""
    along = patch.height > STRIP * height and patch.width < (1 - STRIP) * width
    across = patch.width > STRIP * width and patch.height < (1 - STRIP) * height
    at_side = patch.x0 <= 2 * EDGE or patch.x1 >= width - 2 * EDGE
    at_end = patch.y0 <= 2 * EDGE or patch.y1 >= height - 2 * EDGE
    return (along and at_side) or (across and at_end)


def _find_ink(pixels: NDArray[np.uint8], contrast: int) -> Mask:
    """What is darker than the paper, or lighter where the paper is dark."""
    paper = int(np.bincount(pixels.ravel()).argmax())
    difference = paper - pixels.astype(np.int16)
    return np.greater(difference if paper >= _DARK else -difference, contrast)


def _erase(ink: Mask, box: Box) -> None:
    left, top, right, bottom = (max(0, round(side)) for side in (box.x0, box.y0, box.x1, box.y1))
    ink[top:bottom, left:right] = False


def _erase_edges(ink: Mask) -> None:
    ink[:EDGE] = ink[-EDGE:] = False
    ink[:, :EDGE] = ink[:, -EDGE:] = False


def _to_cells(ink: Mask) -> Mask:
    height, width = (-(-length // CELL) for length in ink.shape)
    padded = np.zeros((height * CELL, width * CELL), dtype=bool)
    padded[: ink.shape[0], : ink.shape[1]] = ink
    return np.asarray(padded.reshape(height, CELL, width, CELL).any(axis=(1, 3)))


def _components(cells: Mask) -> Iterator[tuple[int, int, int, int]]:
    """First and last row and column of cells that touch, corners included."""
    left = {(int(y), int(x)) for y, x in zip(*np.nonzero(cells), strict=True)}
    while left:
        stack = [left.pop()]
        ys, xs = {stack[0][0]}, {stack[0][1]}
        while stack:
            y, x = stack.pop()
            ys.add(y)
            xs.add(x)
            near = {(y + dy, x + dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)} & left
            left -= near
            stack.extend(near)
        yield min(ys), max(ys), min(xs), max(xs)


def _tighten(patch: tuple[int, int, int, int], ink: Mask) -> Box:
    """Around the ink in these cells."""
    top, left = patch[0] * CELL, patch[2] * CELL
    part = ink[top : (patch[1] + 1) * CELL, left : (patch[3] + 1) * CELL]
    ys, xs = np.nonzero(part.any(axis=1))[0], np.nonzero(part.any(axis=0))[0]
    return Box(
        float(left + xs[0]), float(top + ys[0]), float(left + xs[-1] + 1), float(top + ys[-1] + 1)
    )
