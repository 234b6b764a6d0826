from pathlib import Path

import pytest

from quinion.model.element import Box, Element, ElementType
from tests.documents import PROSE, Blank, locked_pdf, make_pdf, truncated_pdf
from tests.element_documents import CELLS, HEIGHT, LEFT, RIGHT, Paper, scan_of, turned
from tests.unit.elements.conftest import Find


def only(elements: list[Element]) -> Element:
    [element] = elements
    return element


def check_box(found: Box, wanted: Box) -> None:
    assert found.iou(wanted) > 0.9, (found, wanted)


def test_a_caption_below_names_the_figure_above(tmp_path: Path, find: Find) -> None:
    with Paper(tmp_path / "a.pdf") as paper:
        y = paper.prose(60, 8)
        box = paper.drawing(Box(150, y + 20, 450, y + 220))
        paper.write(200, y + 240, "Figure 3-1: Plan of the ground floor.")
        paper.prose(y + 270, 10)
    figure = only(find(tmp_path / "a.pdf"))
    assert (figure.type, figure.label, figure.page) == (ElementType.FIGURE, "Figure 3-1", 1)
    assert figure.caption == "Figure 3-1: Plan of the ground floor."
    assert "survey covered nine streets" in figure.context
    check_box(figure.box, box)


def test_a_caption_above_names_the_table_below_and_its_cells_are_read(
    tmp_path: Path, find: Find
) -> None:
    with Paper(tmp_path / "a.pdf") as paper:
        y = paper.prose(60, 8)
        paper.write(LEFT, y + 20, "Table 5. Houses by street.", bold=True)
        box = paper.table(y + 30)
        paper.prose(box.y1 + 25, 12)
    table = only(find(tmp_path / "a.pdf"))
    assert (table.type, table.label) == (ElementType.TABLE, "Table 5")
    assert table.table == CELLS
    assert "Bridge Street" in table.text
    check_box(table.box, box)


def test_a_placed_image_is_a_figure(tmp_path: Path, find: Find) -> None:
    with Paper(tmp_path / "a.pdf") as paper:
        y = paper.prose(60, 8)
        box = paper.picture(Box(120, y + 20, 480, y + 260))
        paper.write(200, y + 280, "Plate IV. The yard from the north.")
        paper.prose(y + 310, 10)
    plate = only(find(tmp_path / "a.pdf"))
    assert plate.label == "Plate IV"
    assert plate.box.iou(box) > 0.8


def test_in_two_columns_each_caption_stays_in_its_own(tmp_path: Path, find: Find) -> None:
    with Paper(tmp_path / "a.pdf") as paper:
        paper.prose(60, 20, 60, 285)
        figure = paper.drawing(Box(320, 60, 535, 200))
        paper.write(330, 220, "Fig. 2(b). A plan of the attic.")
        paper.prose(245, 40, 315, 540)
        paper.write(60, 330, "TABLE 1. Houses by street.")
        table = paper.table(340, 60, 285)
        paper.prose(table.y1 + 20, 20, 60, 285)
    found = {element.label: element for element in find(tmp_path / "a.pdf")}
    assert set(found) == {"Fig. 2(b)", "TABLE 1"}
    check_box(found["Fig. 2(b)"].box, figure)
    check_box(found["TABLE 1"].box, table)


def test_a_mention_in_running_text_is_no_caption(tmp_path: Path, find: Find) -> None:
    with Paper(tmp_path / "a.pdf") as paper:
        y = paper.prose(60, 8)
        paper.write(LEFT, y + 30, "Table 3 shows that few of the houses were damp in both years.")
        paper.write(LEFT, y + 42, "Figure 4 and the notes below it say more about their cellars.")
        paper.prose(y + 54, 12)
    assert find(tmp_path / "a.pdf") == []


def test_a_list_of_figures_has_no_figures(tmp_path: Path, find: Find) -> None:
    with Paper(tmp_path / "a.pdf") as paper:
        paper.write(LEFT, 80, "List of Figures", bold=True)
        for number in range(1, 12):
            y = 100 + 18 * number
            paper.write(LEFT, y, f"Figure {number}. Plan of floor {number} {'. ' * 40}")
            paper.write(RIGHT - 10, y, str(10 + number))
    assert find(tmp_path / "a.pdf") == []


def test_a_caption_printed_twice_to_look_bold_is_one(tmp_path: Path, find: Find) -> None:
    with Paper(tmp_path / "a.pdf") as paper:
        y = paper.prose(60, 8)
        paper.drawing(Box(150, y + 20, 450, y + 220))
        paper.write(200, y + 240, "Figure 7. Plan of the cellar.")
        paper.write(200.4, y + 240, "Figure 7. Plan of the cellar.")
        paper.prose(y + 270, 10)
    assert only(find(tmp_path / "a.pdf")).label == "Figure 7"


def test_equations_go_by_their_numbers(tmp_path: Path, find: Find) -> None:
    with Paper(tmp_path / "a.pdf") as paper:
        y = paper.prose(60, 8)
        paper.equation(y + 25, "E = m c² + k x²", "(8-3)")
        y = paper.prose(y + 45, 5)
        paper.equation(y + 25, "a = b + c", "(8-4)")
        paper.prose(y + 45, 20)
    first, second = find(tmp_path / "a.pdf")
    assert (first.type, first.label) == (ElementType.EQUATION, "(8-3)")
    assert "E = m c²" in first.text
    assert second.label == "(8-4)"


def test_a_line_of_code_is_no_equation(tmp_path: Path, find: Find) -> None:
    with Paper(tmp_path / "a.pdf") as paper:
        y = paper.prose(60, 8)
        paper.write(LEFT + 20, y + 20, "total = total + price * count (3)", font="cour")
        paper.write(LEFT + 20, y + 32, "print(total) == show(4)", font="cour")
        paper.prose(y + 50, 12)
    found = [element.type for element in find(tmp_path / "a.pdf")]
    assert ElementType.EQUATION not in found


@pytest.mark.parametrize("degrees", [90, 270])
def test_boxes_are_those_of_the_page_as_shown(tmp_path: Path, find: Find, degrees: int) -> None:
    """The page is written upright and displayed rotated, so its text runs up or down."""
    with Paper(tmp_path / "a.pdf") as paper:
        y = paper.prose(60, 8)
        paper.write(LEFT, y + 20, "Table 5. Houses by street.", bold=True)
        box = paper.table(y + 30)
        paper.prose(box.y1 + 25, 12)
    path = turned(tmp_path / "a.pdf", tmp_path / "b.pdf", degrees)
    table = next(element for element in find(path) if element.label == "Table 5")
    quarter = {
        90: Box(HEIGHT - box.y1, box.x0, HEIGHT - box.y0, box.x1),
        270: Box(box.y0, 595 - box.x1, box.y1, 595 - box.x0),
    }
    check_box(table.box, quarter[degrees])
    assert table.table == CELLS


def test_a_table_continued_on_another_page_keeps_its_label(tmp_path: Path, find: Find) -> None:
    with Paper(tmp_path / "a.pdf") as paper:
        for caption in ("Table 3. Houses by street.", "Table 3 (continued)"):
            y = paper.prose(60, 6)
            paper.write(LEFT, y + 20, caption, bold=True)
            table = paper.table(y + 30)
            paper.prose(table.y1 + 25, 12)
            paper.turn()
    found = find(tmp_path / "a.pdf", 1, 2)
    assert [(element.label, element.page) for element in found] == [("Table 3", 1), ("Table 3", 2)]


def test_elements_without_a_caption_get_a_generated_label(tmp_path: Path, find: Find) -> None:
    with Paper(tmp_path / "a.pdf") as paper:
        box = paper.drawing(Box(80, 100, 500, 700))
    drawing = only(find(tmp_path / "a.pdf"))
    assert drawing.label == "Figure p1-1"
    check_box(drawing.box, box)


def test_processing_pages_in_parts_gives_the_same_elements(tmp_path: Path, find: Find) -> None:
    with Paper(tmp_path / "a.pdf") as paper:
        for number in range(1, 4):
            y = paper.prose(60, 8)
            paper.drawing(Box(150, y + 20, 450, y + 200))
            paper.write(200, y + 220, f"Figure {number}. Plan of floor {number}.")
            paper.prose(y + 250, 10)
            paper.turn()
    path = tmp_path / "a.pdf"
    assert find(path, 1, 3) == [*find(path, 1, 1), *find(path, 2, 2), *find(path, 3, 3)]


@pytest.mark.slow
def test_a_scanned_page_is_read_by_ocr(tmp_path: Path, find: Find) -> None:
    with Paper(tmp_path / "a.pdf") as paper:
        y = paper.prose(60, 8)
        figure = paper.drawing(Box(150, y + 20, 450, y + 200))
        paper.write(200, y + 220, "Figure 3-1: Plan of the ground floor.")
        y = paper.prose(y + 250, 6)
        paper.write(LEFT, y + 20, "Table 5. Houses by street.")
        table = paper.table(y + 30)
        paper.prose(table.y1 + 25, 6)
    path = scan_of(tmp_path / "a.pdf", tmp_path / "scan.pdf")
    found = {element.label: element for element in find(path, ocr=True)}
    assert set(found) == {"Figure 3-1", "Table 5"}
    check_box(found["Figure 3-1"].box, figure)
    check_box(found["Table 5"].box, table)
    assert found["Table 5"].table == CELLS
    assert find(path) == []


def test_a_blank_page_has_no_elements(tmp_path: Path, find: Find) -> None:
    path = make_pdf(tmp_path / "a.pdf", [Blank()])
    assert find(path) == find(path, ocr=True) == []


def test_a_damaged_or_locked_file_is_reported(tmp_path: Path, find: Find) -> None:
    with pytest.raises(RuntimeError, match=r"ExtractionFailed: .*damaged"):
        find(truncated_pdf(tmp_path / "a.pdf"))
    with pytest.raises(RuntimeError, match=r"ExtractionFailed: .*password"):
        find(locked_pdf(tmp_path / "b.pdf", PROSE))
