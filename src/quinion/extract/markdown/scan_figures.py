"""Find figures on scanned pages, where PyMuPDF's layout model sees only one page-size picture."""
# PyMuPDF is marked as typed, but most of its functions have no annotations.
# mypy: allow-untyped-calls

from collections.abc import Callable, Iterable, Sequence

from PIL import Image
from pymupdf4llm.helpers.document_layout import LayoutBox  # type: ignore[import-untyped]

from quinion.extract.pdf.coverage import Box, bounding_box, cover_ratio
from quinion.extract.pdf.mupdf import pymupdf

# Smaller patches (in points) are stamps, stains and rules.
_MIN_SIDE = 50.0
# A patch of which other content covers more than this share is the frame of a table or of text.
_MAX_COVER = 0.4
# Patches closer than this (in points) belong together.
_MAX_DISTANCE = 10.0

FindPatches = Callable[[Image.Image, Sequence[Box]], list[Box]]
"""Find boxes around ink outside of the given boxes. The grey picture has one pixel per point."""


def add_pictures(page: pymupdf.Page, boxes: list[LayoutBox], find_patches: FindPatches) -> None:
    """Add pictures for ink outside of the layout's boxes, at their place in reading order."""
    pixels = page.get_pixmap(colorspace=pymupdf.csGRAY, alpha=False)
    grey = Image.frombytes("L", (pixels.width, pixels.height), pixels.samples)
    known = [(box.x0, box.y0, box.x1, box.y1) for box in boxes]
    for patch in _merge_near(find_patches(grey, known)):
        left, top, right, bottom = patch
        is_small = min(right - left, bottom - top) < _MIN_SIDE
        if is_small or cover_ratio(known, patch) > _MAX_COVER:
            continue
        below = (
            place
            for place, box in enumerate(boxes)
            if box.y0 > top and box.x0 < right and box.x1 > left
        )
        boxes.insert(next(below, len(boxes)), LayoutBox(*patch, "picture"))


def _merge_near(patches: Iterable[Box]) -> list[Box]:
    """Merge patches that are near each other: the bars of a chart, the parts of a plan."""
    gathered: list[Box] = []
    for patch in patches:
        combined = patch
        while near := [one for one in gathered if _are_near(one, combined)]:
            gathered = [one for one in gathered if one not in near]
            combined = bounding_box([combined, *near])
        gathered.append(combined)
    return gathered


def _are_near(one: Box, other: Box) -> bool:
    across = max(one[0], other[0]) - min(one[2], other[2])
    down = max(one[1], other[1]) - min(one[3], other[3])
    return max(across, down) < _MAX_DISTANCE
