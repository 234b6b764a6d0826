from quinion.elements.equations import find_equations
from quinion.elements.page_layout import PageLayout, Region, RegionKind, Style, TextRow
from quinion.model.element import Box

FRAME = Box(0, 0, 595, 842)


def formula(text: str, y: float, x: float = 200) -> TextRow:
    box = Box(x, y, x + 5 * len(text), y + 10)
    return TextRow(text, box, 10.0, "CMMI10", math=0.5)


def number(text: str, y: float) -> TextRow:
    return TextRow(text, Box(490, y, 520, y + 10), 10.0, "CMR10")


def labels(*rows: TextRow, from_ocr: bool = False, regions: tuple[Region, ...] = ()) -> list[str]:
    style = Style() if from_ocr else Style("CMR10", 10.0)
    page = PageLayout(1, FRAME, rows, regions, body=style, from_ocr=from_ocr)
    return [equation.label for equation in find_equations(page, [])]


def test_each_number_has_its_own_formula() -> None:
    rows = (
        formula("x = a + b", 100),
        number("(3.1)", 100),
        formula("y = a − b", 118),
        number("(3.2)", 118),
    )
    page = PageLayout(1, FRAME, rows, body=Style("CMR10", 10.0))
    first, second = find_equations(page, [])
    assert (first.label, first.text) == ("(3.1)", "x = a + b (3.1)")
    assert (second.label, second.text) == ("(3.2)", "y = a − b (3.2)")
    assert first.box.overlap(second.box) == 0


def test_a_number_without_mathematics_is_a_reference() -> None:
    sentence = TextRow(
        "as was said in the second chapter of this book", Box(70, 100, 480, 110), 10.0
    )
    assert labels(sentence, number("(3.1)", 100)) == []
    assert labels(number("(3.1)", 100)) == []


def test_a_year_is_no_number() -> None:
    assert labels(formula("x = a + b", 100), number("(1984)", 100)) == []


def test_code_is_no_formula() -> None:
    code = TextRow("x = f(a) (3)", Box(70, 100, 140, 110), 10.0, "Courier", mono=True, math=0.2)
    assert labels(code) == []


def test_what_is_taken_is_left_alone() -> None:
    page = PageLayout(
        1, FRAME, (formula("x = a", 100), number("(1)", 100)), body=Style("CMR10", 10.0)
    )
    assert find_equations(page, [Box(60, 90, 530, 120)]) == []


def test_a_formula_without_a_number_has_no_label() -> None:
    seen = (Region(RegionKind.FORMULA, Box(190, 95, 300, 115)),)
    assert labels(formula("x = a + b", 100), regions=seen) == [""]


def test_numbers_that_ocr_misread_are_put_right_where_only_one_fits() -> None:
    rows = [
        part
        for place, label in enumerate(("(23-31)", "(23-32)", "(23-88)", "(23-34)"))
        for part in (formula("A = B + C", 100 + 20 * place), number(label, 100 + 20 * place))
    ]
    assert labels(*rows, from_ocr=True) == ["(23-31)", "(23-32)", "(23-33)", "(23-34)"]
    assert labels(*rows)[2] == "(23-88)"


def test_a_sum_in_brackets_on_a_scan_is_no_number() -> None:
    cell = TextRow("Provision for losses", Box(70, 100, 170, 110), 10.0)
    assert labels(cell, number("(508)", 100), from_ocr=True) == []
