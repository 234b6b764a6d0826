from types import SimpleNamespace

from quinion.extract.markdown.scan_tables import read_cells
from quinion.extract.pdf.coverage import Box

# The boundary between the columns, at 60, cuts the word `Houses`.
CELLS = [[(10, top, 60, top + 20), (60, top, 110, top + 20)] for top in (10, 30, 50)]


def table(cells: list[list[tuple[int, int, int, int]]]) -> SimpleNamespace:
    return SimpleNamespace(
        boxclass="table", x0=10, y0=10, x1=110, y1=70, table={"cells": cells, "markdown": "before"}
    )


def words(*placed: tuple[str, float, float, float]) -> list[tuple[Box, str]]:
    return [((left, top, right, top + 10), text) for text, left, right, top in placed]


def test_a_boundary_between_columns_is_moved_off_the_words() -> None:
    box = table(CELLS)
    found = words(
        ("Street", 12, 35, 15),
        ("Houses", 52, 80, 15),
        ("Mill", 12, 25, 35),
        ("Lane", 27, 40, 35),
        ("54", 70, 80, 35),
        ("Bridge", 12, 40, 55),
        ("38", 70, 80, 55),
    )
    read_cells([box], found)
    assert box.table["markdown"] == ("|Street|Houses|\n|---|---|\n|Mill Lane|54|\n|Bridge|38|\n\n")


def test_rows_and_columns_without_words_are_left_out() -> None:
    box = table([[*row, (110, row[0][1], 130, row[0][3])] for row in CELLS])
    read_cells([box], words(("A|B", 12, 30, 15), ("1", 70, 80, 15), ("C", 12, 30, 55)))
    assert box.table["markdown"] == "|A\\|B|1|\n|---|---|\n|C||\n\n"


def test_words_outside_of_the_table_are_not_in_its_cells() -> None:
    box = table(CELLS)
    read_cells([box], words(("Street", 12, 35, 15), ("Note", 12, 35, 90)))
    assert box.table["markdown"] == "|Street|\n|---|\n\n"


def test_a_table_without_words_is_kept_as_it_is() -> None:
    box = table(CELLS)
    read_cells([box], words(("Note", 12, 35, 90)))
    assert box.table["markdown"] == "before"
