"""A line of a page, as it stands there: what sections are found from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quinion.model.page import Method, Page

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in points from the page's top left corner."""


@dataclass(frozen=True, slots=True)
class Line:
    """One row of text, without white space at its ends and never empty.

    `page_number` is 1-based. `box` and `size` (of most of the line's letters, in points) are
    None where only the text is known, as after OCR. `marked` says that the line begins with a
    number in small print, as a footnote does.
    """

    page_number: int
    text: str
    box: Box | None = None
    size: float | None = None
    bold: bool = False
    marked: bool = False


@dataclass(frozen=True, slots=True)
class LinedPage:
    """A page with its lines, in the order in which they are read."""

    page: Page
    lines: tuple[Line, ...]


def lines_of_text(page: Page) -> tuple[Line, ...]:
    """The lines of a page of which nothing but the text is known."""
    rows = (" ".join(row.split()) for row in page.text.splitlines())
    return tuple(Line(page.number, row) for row in rows if row)


def lined_page_of_json(frame: Mapping[str, Any]) -> LinedPage:
    """What `dataclasses.asdict` and JSON have made of a page with lines, as it was."""
    page = Page(**{**frame["page"], "method": Method(frame["page"]["method"])})
    return LinedPage(
        page,
        tuple(
            Line(**{**line, "box": None if line["box"] is None else tuple(line["box"])})
            for line in frame["lines"]
        ),
    )
