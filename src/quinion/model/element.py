"""An element: a figure, table, equation, diagram or chart of a document, and its name.

Labels are kept as the document writes them, `Fig. 2(b)` or `(8-3)`. An element that has no
label gets one made of its page and its place there, `Figure p12-1`: no document writes that,
it is unique, and it is the same however the pages were shared out.
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
    """Left, top, right and bottom in points from the top left of the page as it is shown."""

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
        """The smallest box around both."""
        return Box(
            min(self.x0, other.x0),
            min(self.y0, other.y0),
            max(self.x1, other.x1),
            max(self.y1, other.y1),
        )

    def __and__(self, other: "Box") -> "Box":
        """What is in both; its area is 0 where nothing is."""
        return Box(
            max(self.x0, other.x0),
            max(self.y0, other.y0),
            min(self.x1, other.x1),
            min(self.y1, other.y1),
        )

    def grow(self, margin: float) -> "Box":
        """The same box, wider by the margin on each side."""
        return Box(self.x0 - margin, self.y0 - margin, self.x1 + margin, self.y1 + margin)

    def overlap(self, other: "Box") -> float:
        """The area in both."""
        width = min(self.x1, other.x1) - max(self.x0, other.x0)
        height = min(self.y1, other.y1) - max(self.y0, other.y0)
        return width * height if width > 0 and height > 0 else 0.0

    def share_in(self, other: "Box") -> float:
        """The part of this box that lies in the other, 0 to 1."""
        return self.overlap(other) / self.area if self.area else 0.0

    def iou(self, other: "Box") -> float:
        """What both have in common over what either has, 0 to 1."""
        common = self.overlap(other)
        either = self.area + other.area - common
        return common / either if either > 0 else 0.0

    def holds(self, point: tuple[float, float]) -> bool:
        """Whether the point is inside or on the border."""
        return self.x0 <= point[0] <= self.x1 and self.y0 <= point[1] <= self.y1


Rows = tuple[tuple[str, ...], ...]
"""A table's cells, row by row; all rows have the same number of them."""


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a page.

    `page` is 1-based. `caption` is the caption whole, with its label, and empty where there is
    none. `context` is what the page says of the element, or else what stands next to it;
    `text` is what stands inside it. `table` has the cells, where they could be read.
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
    """What `dataclasses.asdict` and JSON have made of an element, as it was."""
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
    """A label without what may differ between two ways to write it.

    Case, spacing, kinds of dashes, brackets, `Fig.` for `Figure` and a closing `continued` do
    not count; an equation's number alone is the equation: `(8–3)` is `Eq. 8-3`.
    """
    text = unicodedata.normalize("NFKC", label).casefold().translate(_DASHES).replace("’", "'")
    text = _CONTINUED.sub("", text.strip())
    match = _PARTS.fullmatch(text)
    word, rest = (match[1] or "", match[2]) if match else ("", text)
    if text.startswith("(") or not word:
        word, rest = "equation", text
    number = re.sub(r"[^\w.\-']", "", rest).strip(".-'")
    return f"{_KINDS.get(word, word)} {number}".strip()
