"""Find patches of ink that is not text: the parts of figures.

The page is rendered at one pixel per point and divided into a coarse grid; adjacent cells with ink
form a patch. So a map of thousands of strokes costs as much as one photograph, clipped or white
content is ignored, and scans and vector pages are treated alike.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from quinion.model.element import Box

# A pixel is ink if it differs by more than this from the paper (of 255). Charts on clean pages have
# pale areas; on scans the paper has shades.
CONTRAST = 24
SCAN_CONTRAST = 36
# The side of a cell in points. Patches closer than one to two cells are merged.
CELL = 4
# Patches smaller than this on both sides are dots, bullets and leftovers of letters.
SPECK = 6.0
# Text is erased with this margin, because letters extend beyond their boxes.
MARGIN = 1.5
# So many points at each edge of a page may show the edge of the paper in the scanner.
EDGE = 3

# A strip is longer than this share of a side, and thinner than the remaining share of the other.
STRIP = 0.8
_DARK = 128

Mask = NDArray[np.bool_]


def find_patches(
    pixels: NDArray[np.uint8],
    text: Iterable[Box],
    contrast: int = CONTRAST,
) -> list[Box]:
    """Find boxes around ink that is not text.

    `pixels` is the page in grey, at one pixel per point. The positions of images in the file are
    not used, because images are often clipped, white, or cover the entire page in bands.
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
    """Whether a patch runs along a full side of the page: decoration, or a scanner's shadow."""
    along = patch.height > STRIP * height and patch.width < (1 - STRIP) * width
    across = patch.width > STRIP * width and patch.height < (1 - STRIP) * height
    at_side = patch.x0 <= 2 * EDGE or patch.x1 >= width - 2 * EDGE
    at_end = patch.y0 <= 2 * EDGE or patch.y1 >= height - 2 * EDGE
    return (along and at_side) or (across and at_end)


def _find_ink(pixels: NDArray[np.uint8], contrast: int) -> Mask:
    """Find pixels that are darker than the paper, or lighter if the paper is dark."""
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
    """Yield the first and last row and column of each group of adjacent cells (8 neighbours)."""
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
    """Shrink a patch of cells to the box around its ink."""
    top, left = patch[0] * CELL, patch[2] * CELL
    part = ink[top : (patch[1] + 1) * CELL, left : (patch[3] + 1) * CELL]
    ys, xs = np.nonzero(part.any(axis=1))[0], np.nonzero(part.any(axis=0))[0]
    return Box(
        float(left + xs[0]), float(top + ys[0]), float(left + xs[-1] + 1), float(top + ys[-1] + 1)
    )
