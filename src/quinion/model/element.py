"""Elements of a document: figures, tables, equations, diagrams and charts, with labels.

Labels are stored as the document writes them, `Fig. 2(b)` or `(8-3)`. An element without a label
gets one from its page and its position there, `Figure p12-1`. Documents do not use this form, it
is unique, and it does not depend on how pages were distributed over workers.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class ElementType(StrEnum):
    FIGURE = "figure"
    TABLE = "table"
    EQUATION = "equation"
    DIAGRAM = "diagram"
    CHART = "chart"


@dataclass(frozen=True, slots=True)
class Box:
    """Rectangle in points: left, top, right, bottom from the top left of the displayed page."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        return self.y1 - self.y0

    @property
    def area(self) -> float:
        return max(0.0, self.width) * max(0.0, self.height)

    @property
    def centre(self) -> tuple[float, float]:
        return (self.x0 + self.x1) / 2, (self.y0 + self.y1) / 2

    def __or__(self, other: "Box") -> "Box":
        """The smallest box that contains both."""
        return Box(
            min(self.x0, other.x0),
            min(self.y0, other.y0),
            max(self.x1, other.x1),
            max(self.y1, other.y1),
        )

    def __and__(self, other: "Box") -> "Box":
        """The intersection; its area is 0 if the boxes do not overlap."""
        return Box(
            max(self.x0, other.x0),
            max(self.y0, other.y0),
            min(self.x1, other.x1),
            min(self.y1, other.y1),
        )

    def grow(self, margin: float) -> "Box":
        """A copy with a margin added on each side."""
        return Box(self.x0 - margin, self.y0 - margin, self.x1 + margin, self.y1 + margin)

    def overlap(self, other: "Box") -> float:
        """The area of the intersection."""
        width = min(self.x1, other.x1) - max(self.x0, other.x0)
        height = min(self.y1, other.y1) - max(self.y0, other.y0)
        return width * height if width > 0 and height > 0 else 0.0

    def share_in(self, other: "Box") -> float:
        """The share of this box that is inside the other, 0 to 1."""
        return self.overlap(other) / self.area if self.area else 0.0

    def iou(self, other: "Box") -> float:
        """Intersection over union, 0 to 1."""
        common = self.overlap(other)
        either = self.area + other.area - common
        return common / either if either > 0 else 0.0

    def holds(self, point: tuple[float, float]) -> bool:
        """Whether the point is inside the box or on its border."""
        return self.x0 <= point[0] <= self.x1 and self.y0 <= point[1] <= self.y1


Rows = tuple[tuple[str, ...], ...]
"""Table cells by row; all rows have the same length."""


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a page.

    `page` is 1-based. `caption` is the complete caption with its label, or empty. `context` is
    the text of the page that refers to the element, or else the text next to it. `text` is the
    text inside the element. `table` has the cells, if they could be read.
    """

    type: ElementType
    label: str
    page: int
    box: Box
    caption: str = ""
    context: str = ""
    text: str = ""
    table: Rows | None = None


def element_of_json(frame: Mapping[str, Any]) -> Element:
    """Rebuild an element from the JSON of `dataclasses.asdict`."""
    table = frame["table"]
    return Element(
        **{
            **frame,
            "type": ElementType(frame["type"]),
            "box": Box(**frame["box"]),
            "table": None if table is None else tuple(tuple(row) for row in table),
        }
    )


_KINDS = {
    "fig": "figure",
    "figs": "figure",
    "figure": "figure",
    "figures": "figure",
    "tab": "table",
    "tbl": "table",
    "table": "table",
    "tables": "table",
    "eq": "equation",
    "eqn": "equation",
    "eqs": "equation",
    "equation": "equation",
    "formula": "equation",
    "alg": "algorithm",
    "photograph": "photo",
}
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−"), "-")
_CONTINUED = re.compile(r"\W*\b(continued|contd?|cont'd|cont\.)\W*$")
_PARTS = re.compile(r"([^\W\d_]+)?\W*(.*)", re.DOTALL)


def fold_label(label: str) -> str:
    """Normalize a label, so that different spellings compare equal.

    Case, spacing, kinds of dashes, brackets, `Fig.` for `Figure` and a trailing `continued` are
    ignored. A number in brackets is an equation: `(8–3)` equals `Eq. 8-3`.
    """
    text = unicodedata.normalize("NFKC", label).casefold().translate(_DASHES).replace("’", "'")
    text = _CONTINUED.sub("", text.strip())
    match = _PARTS.fullmatch(text)
    word, rest = (match[1] or "", match[2]) if match else ("", text)
    if text.startswith("(") or not word:
        word, rest = "equation", text
    number = re.sub(r"[^\w.\-']", "", rest).strip(".-'")
    return f"{_KINDS.get(word, word)} {number}".strip()
