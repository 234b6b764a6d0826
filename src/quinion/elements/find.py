"""Find the elements of a page layout, and tell figures, diagrams and charts apart. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from quinion.elements.caption_matching import place_captions
from quinion.elements.captions import Caption, find_captions, is_list
from quinion.elements.equations import find_equations
from quinion.elements.page_layout import (
    PageLayout,
    Region,
    RegionKind,
    TextRow,
    bounding_box,
    merge,
)
from quinion.elements.page_regions import INSIDE, SAME, find_obstacles
from quinion.model.element import Box, Element, ElementType, Rows, fold_label

# The minimum size of a picture without a caption (points, and share of the page).
MIN_SIDE = 56.0
MIN_AREA = 0.01
# Logos and rules are in the top and bottom margins (shares of the page's height).
MARGINS = (0.09, 0.93)
# Patches this near, in points, are one picture.
NEAR = 10.0
# A patch of which text covers this share is a text box.
TEXT_COVER = 0.25
# A table of which text covers less is a drawing.
TABLE_COVER = 0.04
# The maximum length of an element's text and context, in characters.
MAX_TEXT = 4_000
MAX_CONTEXT = 800
# The minimum overlap of a grid of cells with its table's box.
MIN_OVERLAP = 0.3
# The cells, or the table region, cover this share of a captioned table. The rest are notes below
# it, its title and rules around it.
MIN_COVER = 0.3
# The border of a table is so near to its first and last row of text, in points.
BORDER_GAP = 8.0
# A table has at least so many rows and columns,
MIN_CELLS = 2
# text in this share of its cells, if its caption does not call it a table,
MIN_FILLED = 0.75
# and its rules enclose less than this share of the page.
MAX_TABLE = 0.9

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


def find_on_page(layout: PageLayout) -> list[Element]:
    """Find the elements of a page, from top to bottom; unlabelled ones have an empty label."""
    if is_list(layout):
        return []
    captions = find_captions(layout)
    obstacles = find_obstacles(layout, captions)
    named = [
        _name(layout, caption, box, obstacles)
        for caption, box in zip(captions, place_captions(layout, captions), strict=True)
        if box is not None
    ]
    occupied = [*(element.box for element in named), *(caption.box for caption in captions)]
    equations = [
        Element(
            ElementType.EQUATION,
            equation.label,
            layout.number,
            equation.box,
            context=_context(layout, equation.label, equation.box, obstacles),
            text=equation.text[:MAX_TEXT],
        )
        for equation in find_equations(layout, occupied)
    ]
    occupied += [equation.box for equation in equations]
    tables = list(_unlabelled_tables(layout, occupied, obstacles))
    occupied += [table.box for table in tables]
    pictures = list(_unlabelled_pictures(layout, occupied, obstacles))
    elements = [*named, *equations, *tables, *pictures]
    return sorted(elements, key=lambda element: (element.box.y0, element.box.x0))


def _name(layout: PageLayout, caption: Caption, box: Box, obstacles: Sequence[Region]) -> Element:
    rows = _rows_in(layout, box)
    cells = _cells(layout, box)
    kind = find_type(caption.kind, caption.text, rows)
    if cells and _is_filled(cells):
        kind = ElementType.TABLE  # whatever its caption says
    if kind is ElementType.TABLE:
        box = _tighten(layout, box)
        rows = _rows_in(layout, box)
    return Element(
        kind,
        caption.label,
        layout.number,
        box,
        caption.text,
        _context(layout, caption.label, box | caption.box, obstacles),
        _text(rows),
        cells if kind is ElementType.TABLE else None,
    )


def _tighten(layout: PageLayout, box: Box) -> Box:
    """The part of a captioned table's box that its cells, or else the table region, cover."""
    for boxes in (
        [grid.box for grid in layout.grids],
        [region.box for region in layout.regions_of(RegionKind.TABLE)],
    ):
        inside = [part for part in boxes if part.share_in(box) > SAME]
        if inside and (part := bounding_box(inside)).overlap(box) >= MIN_COVER * box.area:
            return _with_border(layout, part)
    return box


def _is_filled(cells: Rows) -> bool:
    """Whether a grid has text in most cells; the lines of a chart or a plan have little."""
    texts = [cell for row in cells for cell in row]
    return len(cells[0]) >= MIN_CELLS and sum(map(bool, texts)) >= MIN_FILLED * len(texts)


def _unlabelled_tables(
    layout: PageLayout, occupied: Sequence[Box], obstacles: Sequence[Region]
) -> Iterable[Element]:
    for cells in _table_boxes(layout):
        if any(_overlaps(cells, other) for other in occupied):
            continue
        framed = _with_rules(layout, cells)
        if _cover(_rows_in(layout, framed), framed) < TABLE_COVER:
            continue  # a framed drawing
        box = _with_border(layout, cells)
        rows = _rows_in(layout, box)
        yield Element(
            ElementType.TABLE,
            "",
            layout.number,
            box,
            context=_context(layout, "", box, obstacles),
            text=_text(rows),
            table=_cells(layout, box),
        )


def _table_boxes(layout: PageLayout) -> list[Box]:
    """The grids of cells, and the table regions without one: a region may hold several tables."""
    found: list[Box] = []
    grids = [
        grid.box
        for grid in layout.grids
        if len(grid.rows) >= MIN_CELLS and len(grid.rows[0]) >= MIN_CELLS
    ]
    regions = [region.box for region in layout.regions_of(RegionKind.TABLE)]
    frames = [box for box in layout.pictures if box.area < MAX_TABLE * layout.frame.area]
    whole = [box for box in (*regions, *frames) if _is_one_table(layout, box, grids)]
    for boxes in (whole, grids, regions):
        for box in sorted(boxes, key=lambda box: -box.area):
            if not any(_overlaps(box, other) for other in found):
                found.append(box)
    return found


def _is_one_table(layout: PageLayout, around: Box, grids: Iterable[Box]) -> bool:
    """Whether the grids in a region or a border have text between them, as rows of one table."""
    inside = [grid for grid in grids if grid.share_in(around) > SAME]
    return len(inside) > 1 and any(
        not any(grid.holds(row.box.centre) for grid in inside) for row in _rows_in(layout, around)
    )


def _unlabelled_pictures(
    layout: PageLayout, occupied: Sequence[Box], obstacles: Sequence[Region]
) -> Iterable[Element]:
    boxes = [region.box for region in layout.regions_of(RegionKind.PICTURE)]
    boxes += [patch for patch in layout.pictures if _is_large(layout, patch)]
    for box in merge(boxes, NEAR):
        if any(_overlaps(box, other) for other in occupied):
            continue
        if not _is_large(layout, box) or _is_in_margin(layout, box):
            continue
        rows = _rows_in(layout, box)
        if _is_text_box(box, rows, obstacles):
            continue
        yield Element(
            find_type("", "", rows),
            "",
            layout.number,
            box,
            context=_context(layout, "", box, obstacles),
            text=_text(rows),
        )


def _with_rules(layout: PageLayout, table: Box) -> Box:
    """Extend a table's box to the rules around it."""
    for patch in layout.pictures:
        if table.share_in(patch) > INSIDE and patch.area < MAX_TABLE * layout.frame.area:
            table |= patch
    return table


def _with_border(layout: PageLayout, cells: Box) -> Box:
    """Extend the box of a table's cells to a border around them, if it has nothing else inside."""
    for patch in layout.pictures:
        is_around = cells.share_in(patch) > INSIDE
        if is_around and max(cells.y0 - patch.y0, patch.y1 - cells.y1) < BORDER_GAP:
            return cells | patch
    return cells


def _overlaps(one: Box, other: Box) -> bool:
    return one.overlap(other) > MIN_OVERLAP * min(one.area, other.area)


def _is_large(layout: PageLayout, box: Box) -> bool:
    return min(box.width, box.height) >= MIN_SIDE and box.area >= MIN_AREA * layout.frame.area


def _is_in_margin(layout: PageLayout, box: Box) -> bool:
    top, bottom = (layout.frame.height * part for part in MARGINS)
    return box.y1 < top or box.y0 > bottom


def _is_text_box(box: Box, rows: Sequence[TextRow], obstacles: Sequence[Region]) -> bool:
    inside = sum(region.box.overlap(box) for region in obstacles) / box.area
    return max(_cover(rows, box), inside) > TEXT_COVER


def _cover(rows: Sequence[TextRow], box: Box) -> float:
    """The share of a box that text covers."""
    return sum(row.box.overlap(box) for row in rows) / box.area


def _rows_in(layout: PageLayout, box: Box) -> list[TextRow]:
    return [row for row in layout.rows if box.holds(row.box.centre)]


def _text(rows: Iterable[TextRow]) -> str:
    return "\n".join(row.text for row in rows)[:MAX_TEXT]


def _cells(layout: PageLayout, box: Box) -> Rows | None:
    """The cells of the grid that matches the box best."""
    fitting = [grid for grid in layout.grids if grid.box.share_in(box) > SAME]
    best = max(fitting, key=lambda grid: grid.box.iou(box), default=None)
    if best is None or best.box.iou(box) < MIN_OVERLAP or len(best.rows) < MIN_CELLS:
        return None
    return best.rows


def _context(layout: PageLayout, label: str, box: Box, obstacles: Sequence[Region]) -> str:
    """The paragraphs that mention the label, or else the nearest ones."""
    texts = [
        (region.box, " ".join(row.text for row in _rows_in(layout, region.box)))
        for region in obstacles
        if region.kind in (RegionKind.TEXT, RegionKind.LIST_ITEM, RegionKind.HEADING)
        and not region.box.overlap(box)
    ]
    pattern = _mention(label)
    texts_found = [text for _, text in texts if pattern is not None and pattern.search(text)]
    if not texts_found:
        nearest = sorted(texts, key=lambda pair: _distance(pair[0], box))[:2]
        texts_found = [text for _, text in sorted(nearest, key=lambda pair: pair[0].y0)]
    return " … ".join(texts_found)[:MAX_CONTEXT]


def _mention(label: str) -> re.Pattern[str] | None:
    if not label:
        return None
    kind, _, number = fold_label(label).partition(" ")
    words = {"figure": r"\bfigs?(?:ures?)?", "equation": r"(?:\beq[a-z]*|(?=\())"}
    word = words.get(kind, rf"\b{re.escape(kind)}s?")
    digits = re.escape(number).replace(r"\-", r"\s?[-–]\s?")
    return re.compile(rf"{word}\.?\s*\(?{digits}\b(?![.\-–]\d)", re.IGNORECASE)


def _distance(one: Box, other: Box) -> float:
    across = max(0.0, max(one.x0, other.x0) - min(one.x1, other.x1))
    down = max(0.0, max(one.y0, other.y0) - min(one.y1, other.y1))
    return across + down


def label_unlabelled(elements: Sequence[Element]) -> tuple[Element, ...]:
    """Give unlabelled elements a label of page and number: `Figure p12-1`."""
    counts: dict[ElementType, int] = {}
    named = []
    for element in elements:
        if not element.label:
            count = counts[element.type] = counts.get(element.type, 0) + 1
            label = f"{element.type.capitalize()} p{element.page}-{count}"
            named.append(replace(element, label=label))
        else:
            named.append(element)
    return tuple(named)


def find_type(kind: str, caption: str, rows: Sequence[TextRow]) -> ElementType:
    """The type of an element, from its caption, which begins with `kind`, and the rows inside."""
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    if _DIAGRAM_WORDS.search(caption):
        return ElementType.DIAGRAM
    if _CHART_WORDS.search(caption) or _has_axis(rows):
        return ElementType.CHART
    return ElementType.FIGURE


def _has_axis(rows: Sequence[TextRow]) -> bool:
    ticks = [row.box for row in rows if _TICK.fullmatch(row.text)]
    rights = sorted(box.x1 for box in ticks)
    middles = sorted(box.centre[1] for box in ticks)
    return _lines_up(rights) or _lines_up(middles)


def _lines_up(places: Sequence[float]) -> bool:
    return any(
        places[index + _TICKS - 1] - places[index] < _LINE_UP
        for index in range(len(places) - _TICKS + 1)
    )
