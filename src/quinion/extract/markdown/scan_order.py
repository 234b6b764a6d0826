"""Reading order of the boxes of a scanned page: that of the words that OCR read in them. Pure.

PyMuPDF4LLM orders boxes by their place alone. OCR knows the columns (`ocr/reading_order`).
"""

from collections.abc import Iterable
from statistics import median
from typing import TYPE_CHECKING

from quinion.extract.pdf.coverage import Box

if TYPE_CHECKING:
    from pymupdf4llm.helpers.document_layout import LayoutBox  # type: ignore[import-untyped]


def order_boxes(boxes: "list[LayoutBox]", words: Iterable[tuple[Box, str]]) -> None:
    """Sort boxes by the words inside; a box without words stays behind the one before it."""
    middles = [((left + right) / 2, (top + bottom) / 2) for (left, top, right, bottom), _ in words]
    places: dict[int, float] = {}
    last = -1.0
    for box in boxes:
        inside = [
            number
            for number, (across, down) in enumerate(middles)
            if box.x0 <= across <= box.x1 and box.y0 <= down <= box.y1
        ]
        last = places[id(box)] = median(inside) if inside else last
    boxes.sort(key=lambda box: places[id(box)])
