import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from quinion.model.table_rows import to_csv, to_markdown

words = st.text(st.characters(categories=("L", "N", "P", "Zs")), max_size=12)
tables = st.lists(st.lists(words, min_size=3, max_size=3), min_size=1, max_size=5)


def test_the_first_row_is_the_head() -> None:
    assert to_markdown([("Street", "Houses"), ("Mill Lane", "24")]) == (
        "| Street | Houses |\n| --- | --- |\n| Mill Lane | 24 |"
    )


def test_bars_and_breaks_stay_inside_their_cell() -> None:
    [_, _, row] = to_markdown([("a",), ("x|y\nz",)]).splitlines()
    assert row == "| x\\|y<br>z |"


def test_short_rows_are_filled_up() -> None:
    assert to_markdown([("a", "b"), ("c",)]).splitlines()[-1] == "| c |  |"


def test_no_rows_are_no_table() -> None:
    assert to_markdown([]) == to_csv([]) == ""


def test_cells_are_not_executed_as_formulas() -> None:
    assert to_csv([("=cmd()", "-12.5", "+4 %")]) == "'=cmd(),-12.5,+4 %\r\n"


@given(tables)
def test_csv_reads_back_as_it_was(rows: list[list[str]]) -> None:
    back = list(csv.reader(io.StringIO(to_csv(rows), newline="")))
    assert [[cell.removeprefix("'") for cell in row] for row in back] == [
        [cell.removeprefix("'") for cell in row] for row in rows
    ]
