import pytest

from quinion.elements.find import find_on_page, find_type
from quinion.elements.page_layout import Grid, PageLayout, Region, RegionKind, TextRow
from quinion.model.element import Box, Element, ElementType

ROWS = (("Street", "Houses"), ("Bridge Street", "38"), ("Mill Lane", "54"))


@pytest.mark.parametrize(
    ("kind", "caption", "wanted"),
    [
        ("table", "Table 1. A flow chart of everything", ElementType.TABLE),
        ("chart", "Chart 5", ElementType.CHART),
        ("figure", "Figure 1. Controller block diagram", ElementType.DIAGRAM),
        ("figure", "Figure 1. Flow chart of the survey", ElementType.DIAGRAM),
        ("figure", "Figure 1. Histogram of ages", ElementType.CHART),
        ("figure", "Figure 1. Rainfall versus height", ElementType.CHART),
        ("figure", "Figure 1. The yard from the north", ElementType.FIGURE),
        ("plate", "Plate IV", ElementType.FIGURE),
    ],
)
def test_words_determine_the_type(kind: str, caption: str, wanted: ElementType) -> None:
    assert find_type(kind, caption, []) is wanted


def test_an_axis_makes_a_chart() -> None:
    ticks = [TextRow(str(n), Box(50, 10 * n, 60, 10 * n + 8), 8.0) for n in range(5)]
    assert find_type("figure", "Figure 1", ticks) is ElementType.CHART
    assert find_type("figure", "Figure 1", ticks[:2]) is ElementType.FIGURE


def layout_of(
    *grids: Box, regions: tuple[Region, ...] = (), rules: tuple[Box, ...] = (), notes: float = 0.0
) -> PageLayout:
    """A page with a caption at the top, grids of cells, and small print below them."""
    rows = [TextRow("Table 1. Houses by street.", Box(70, 60, 220, 72), 10.0, bold=True)]
    for grid in grids:
        for number, cells in enumerate(ROWS):
            y = grid.y0 + number * grid.height / len(ROWS)
            texts = zip(cells, (grid.x0, (grid.x0 + grid.x1) / 2), strict=True)
            rows += [TextRow(text, Box(x, y, x + 60, y + 12), 10.0) for text, x in texts]
    if notes:
        rows.append(TextRow("Source: survey.", Box(70, notes, 160, notes + 8), 7.0))
    found = tuple(Grid(grid, ROWS) for grid in grids)
    return PageLayout(1, Box(0, 0, 595, 842), tuple(rows), regions, rules, found)


def tables_of(layout: PageLayout) -> list[Element]:
    return [found for found in find_on_page(layout) if found.type is ElementType.TABLE]


def test_the_box_of_a_captioned_table_is_that_of_its_cells() -> None:
    grid = Box(70, 90, 400, 150)
    rules = (Box(70, 80, 525, 82), Box(70, 156, 525, 158), Box(70, 175, 525, 177))
    [table] = tables_of(layout_of(grid, rules=rules, notes=162.0))
    assert (table.label, table.box, table.table) == ("Table 1", grid, ROWS)
    assert "survey" not in table.text


def test_a_border_around_the_cells_alone_belongs_to_the_table() -> None:
    grid, border = Box(74, 90, 400, 150), Box(70, 86, 525, 154)
    [table] = tables_of(layout_of(grid, rules=(border,)))
    assert table.box == border


def test_a_border_around_the_notes_too_does_not_belong_to_the_table() -> None:
    grid, border = Box(74, 90, 400, 150), Box(70, 86, 525, 190)
    [table] = tables_of(layout_of(grid, rules=(border,), notes=170.0))
    assert table.box == grid


def test_two_grids_in_one_region_are_two_tables() -> None:
    upper, lower = Box(70, 300, 400, 360), Box(70, 400, 400, 460)
    region = Region(RegionKind.TABLE, Box(70, 300, 400, 460))
    found = tables_of(layout_of(upper, lower, regions=(region,)))
    assert [table.box for table in found] == [upper, lower]


def test_two_grids_with_text_between_them_in_one_region_are_one_table() -> None:
    upper, lower = Box(70, 300, 400, 360), Box(70, 400, 400, 460)
    region = Region(RegionKind.TABLE, Box(70, 300, 400, 460))
    [table] = tables_of(layout_of(upper, lower, regions=(region,), notes=376.0))
    assert table.box == region.box


def test_a_region_without_a_grid_is_a_table() -> None:
    region = Region(RegionKind.TABLE, Box(60, 50, 230, 80))
    words = TextRow("Mill Lane 54 38", Box(62, 55, 228, 70), 10.0)
    [table] = find_on_page(PageLayout(1, Box(0, 0, 595, 842), (words,), (region,)))
    assert (table.type, table.box, table.table) == (ElementType.TABLE, region.box, None)
