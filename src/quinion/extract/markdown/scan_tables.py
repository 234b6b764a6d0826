"""Cells of tables on scanned pages, by whole words.

PyMuPDF4LLM divides a table by letters, and the boxes of OCR are less exact than those of a text
layer. So a boundary between columns would cut words. Here it is moved to a gap between words.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from quinion.extract.pdf.coverage import Box

if TYPE_CHECKING:
    from pymupdf4llm.helpers.document_layout import LayoutBox  # type: ignore[import-untyped]


class _Word(NamedTuple):
    left: float
    right: float
    middle: float
    text: str


def read_cells(boxes: "Iterable[LayoutBox]", words: Iterable[tuple[Box, str]]) -> None:
    """Read the cells of a page's tables again, from the words of OCR in points."""
    known = [
        _Word(left, right, (top + bottom) / 2, text) for (left, top, right, bottom), text in words
    ]
    for box in boxes:
        if box.boxclass == "table" and box.table and box.table.get("cells"):
            inside = [
                word
                for word in known
                if box.x0 <= (word.left + word.right) / 2 <= box.x1
                and box.y0 <= word.middle <= box.y1
            ]
            rows = _fill(box.table["cells"], inside)
            if rows:
                box.table["markdown"] = _to_markdown(rows)


def _fill(cells: Sequence[Sequence[Sequence[float]]], words: Sequence[_Word]) -> list[list[str]]:
    """Put each word into a cell; rows and columns without words are left out."""
    bottoms = [row[0][3] for row in cells[:-1]]
    rows: list[list[_Word]] = [[] for _ in cells]
    for word in words:
        rows[bisect_left(bottoms, word.middle)].append(word)
    columns = _move_to_gaps([cell[2] for cell in cells[0][:-1]], rows)
    texts = [[""] * (len(columns) + 1) for _ in cells]
    for text, row in zip(texts, rows, strict=True):
        for word in row:
            column = bisect_left(columns, (word.left + word.right) / 2)
            text[column] = f"{text[column]} {word.text}".strip()
    used = [number for number in range(len(columns) + 1) if any(row[number] for row in texts)]
    return [[row[number] for number in used] for row in texts if any(row)]


def _move_to_gaps(edges: Sequence[float], rows: Sequence[Sequence[_Word]]) -> list[float]:
    """Move each edge between columns to where most rows have a gap, and fewest words are cut."""
    moved: list[float] = []
    for number, edge in enumerate(edges):
        before = edges[number - 1] if number else -math.inf
        after = edges[number + 1] if number + 1 < len(edges) else math.inf
        places = [
            edge,
            *(
                (one.right + other.left) / 2
                for row in rows
                for one, other in pairwise(row)
                if before < (one.right + other.left) / 2 < after
            ),
        ]
        best = min(
            places,
            key=lambda place: (-_divided(place, before, after, rows), abs(place - edge)),
        )
        moved.append(best)
    return sorted(moved)


def _divided(place: float, before: float, after: float, rows: Sequence[Sequence[_Word]]) -> int:
    """Count the rows with a gap at this place between words of both columns, less those cut."""
    count = 0
    for row in rows:
        count += any(
            one.right <= place <= other.left and one.right > before and other.left < after
            for one, other in pairwise(row)
        )
        count -= any(word.left < place < word.right for word in row)
    return count


def _to_markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = ["|".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    lines.insert(1, "|".join("---" for _ in rows[0]))
    return "".join(f"|{line}|\n" for line in lines) + "\n"
