"""Lines of a page with their layout, from which sections are detected."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quinion.model.page import Method, Page, without_spaces

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in points from the page's top left corner."""
Place = tuple[int, int]
"""Start and end in a page's text without white space."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text: stripped, never empty.

    `page_number` is 1-based. `box` and `size` (the font size of most letters, in points) are
    `None` if only the text is known. `marked` is true if the line begins with a small number, as a
    footnote does. `places` are the parts of the page's text, without white space, that the line
    consists of. `is_scanned` is true if all of this is from OCR, and so estimated.
    """

    page_number: int
    text: str
    box: Box | None = None
    size: float | None = None
    bold: bool = False
    marked: bool = False
    places: tuple[Place, ...] = ()
    is_scanned: bool = False


@dataclass(frozen=True, slots=True)
class LinedPage:
    """A page with its lines, in reading order."""

    page: Page
    lines: tuple[Line, ...]


def lines_of_text(page: Page) -> tuple[Line, ...]:
    """Split the text of a page into lines without layout."""
    lines = []
    end = 0
    for text in page.text.splitlines():
        if row := " ".join(text.split()):
            start, end = end, end + len(without_spaces(row))
            lines.append(Line(page.number, row, places=((start, end),)))
    return tuple(lines)


def lined_page_of_json(frame: Mapping[str, Any]) -> LinedPage:
    """Rebuild a page with lines from the JSON of `dataclasses.asdict`."""
    page = Page(**{**frame["page"], "method": Method(frame["page"]["method"])})
    return LinedPage(
        page,
        tuple(
            Line(
                **{
                    **line,
                    "box": None if line["box"] is None else tuple(line["box"]),
                    "places": tuple(map(tuple, line["places"])),
                }
            )
            for line in frame["lines"]
        ),
    )
