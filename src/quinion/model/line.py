"""Lines of a page with their layout, from which sections are detected."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quinion.model.page import Method, Page

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in points from the page's top left corner."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text: stripped, never empty.

    `page_number` is 1-based. `box` and `size` (the font size of most letters, in points) are
    `None` if only the text is known, as after OCR. `marked` is true if the line begins with a
    small number, as a footnote does.
    """

    page_number: int
    text: str
    box: Box | None = None
    size: float | None = None
    bold: bool = False
    marked: bool = False


@dataclass(frozen=True, slots=True)
class LinedPage:
    """A page with its lines, in reading order."""

    page: Page
    lines: tuple[Line, ...]


def lines_of_text(page: Page) -> tuple[Line, ...]:
    """Split the text of a page into lines without layout."""
    rows = (" ".join(row.split()) for row in page.text.splitlines())
    return tuple(Line(page.number, row) for row in rows if row)


def lined_page_of_json(frame: Mapping[str, Any]) -> LinedPage:
    """Rebuild a page with lines from the JSON of `dataclasses.asdict`."""
    page = Page(**{**frame["page"], "method": Method(frame["page"]["method"])})
    return LinedPage(
        page,
        tuple(
            Line(**{**line, "box": None if line["box"] is None else tuple(line["box"])})
            for line in frame["lines"]
        ),
    )
