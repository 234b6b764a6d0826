import pytest

from quinion.extract.scans.text_heuristics import has_lines, has_running_text
from tests.documents import PROSE

TITLE_BLOCK = """Drawing title:
First floor plan
Scale:
1:50 @ A3
Drawing number:
2019.PD.102
Bedroom
Bedroom
Bathroom
Roof of existing
extension
T +44 (0)1632 960 638
48 High Street / 4th Floor"""
TABLE = "\n".join(f"{row * 37}\n{row * 91}.5\n{row % 7} %" for row in range(10, 120))


def test_paragraphs_run() -> None:
    assert has_running_text(PROSE)


@pytest.mark.parametrize("text", ["", "\n \n", "Elevations", TITLE_BLOCK])
def test_labels_and_title_blocks_do_not_run(text: str) -> None:
    assert not has_running_text(text)


def test_a_caption_of_three_lines_does_not_run() -> None:
    assert not has_running_text("\n".join(PROSE.splitlines()[:3]))


def test_notes_among_many_labels_do_not_run() -> None:
    assert not has_running_text(PROSE + "\nPlot 17" * 40)


def test_a_table_layer_of_many_single_cells_is_to_be_read() -> None:
    assert has_running_text(TABLE)
    assert not has_lines(TABLE)


def test_specks_that_ocr_takes_for_letters_are_no_words() -> None:
    assert not has_lines("| . - i ' l | . , :\n" * 20)


CHINESE = "这是一份关于交通和停车的报告，共有二百个自行车停车位。"


def test_words_without_spaces_are_running_text() -> None:
    assert has_running_text("\n".join([CHINESE] * 4))
    assert has_running_text("\n".join([" ".join(CHINESE)] * 4))  # as OCR separates them


def test_short_labels_without_spaces_are_no_running_text() -> None:
    assert not has_running_text("\n".join(["停车", "入口", "人民路"] * 4))
