"""Tell figures, diagrams and charts apart, by caption and by content. Pure."""

import re
from collections.abc import Sequence

from quinion.elements.page_layout import Row
from quinion.model.element import ElementType

_BY_KIND = {
    "table": ElementType.TABLE,
    "chart": ElementType.CHART,
    "graph": ElementType.CHART,
    "diagram": ElementType.DIAGRAM,
    "scheme": ElementType.DIAGRAM,
}
_DIAGRAM_WORDS = re.compile(
    r"\b(?:(?:flow|block|circuit|wiring|sequence|network|phase|schematic|organi[sz]ation)?\s?"
    r"diagrams?|flow\s?-?charts?|organi[sz]ation charts?|schematics?|schemas?|workflow"
    r"|architecture|pipeline|framework|block-diagram|decision tree)\b",
    re.IGNORECASE,
)
_CHART_WORDS = re.compile(
    r"\b(?:charts?|graphs?|plots?|plotted|histograms?|curves?|scatter|box-?plots?|heat-?maps?"
    r"|bar chart|pie chart|trends?|time series|distribution of|as a function of|versus|vs\.?"
    r"|per cent of|percentage of|growth rates?)\b",
    re.IGNORECASE,
)
_TICK = re.compile(r"[-−+]?[\d.,]+\s?%?")
# So many aligned numbers, beside or below each other, are the ticks of an axis.
_TICKS = 4
_LINE_UP = 3.0


def find_type(kind: str, caption: str, rows: Sequence[Row]) -> ElementType:
    """The type of an element, from its caption, which begins with `kind`, and the rows inside."""
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    if _DIAGRAM_WORDS.search(caption):
        return ElementType.DIAGRAM
    if _CHART_WORDS.search(caption) or _has_axis(rows):
        return ElementType.CHART
    return ElementType.FIGURE


def _has_axis(rows: Sequence[Row]) -> bool:
    ticks = [row.box for row in rows if _TICK.fullmatch(row.text)]
    rights = sorted(box.x1 for box in ticks)
    middles = sorted(box.centre[1] for box in ticks)
    return _lines_up(rights) or _lines_up(middles)


def _lines_up(places: Sequence[float]) -> bool:
    return any(
        places[index + _TICKS - 1] - places[index] < _LINE_UP
        for index in range(len(places) - _TICKS + 1)
    )
