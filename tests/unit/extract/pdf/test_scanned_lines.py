"""Lines of scanned pages: rows with the numbers beside them, sizes, and places in the text."""

import pytest

from quinion.extract.pdf.scanned_lines import read_scanned_lines
from quinion.model.page import Method, Page, Word, encode_words, words_to_text

WIDTH, HEIGHT = 600.0, 800.0


def page(*words: Word) -> Page:
    text = " ".join(word.text for word in words)
    return Page(1, text, Method.OCR, 90.0, words=words_to_text(encode_words(words, (595, 842))))


def word(text: str, left: float, top: float, height: float = 9.0, *, starts: bool = False) -> Word:
    right = left + 6 * len(text)
    box = (left / WIDTH, top / HEIGHT, right / WIDTH, (top + height) / HEIGHT)
    return Word(text, box, starts_line=starts)


def test_a_number_that_was_read_apart_is_on_the_line_of_its_paragraph() -> None:
    scanned = page(
        word("1.", 57, 100, starts=True),
        word("2.", 57, 130, starts=True),
        word("Homes", 90, 100, starts=True),
        word("first", 130, 100),
        word("Roads", 90, 130, starts=True),
        word("then", 130, 130),
    )
    lines = read_scanned_lines(scanned, WIDTH, HEIGHT)
    assert [line.text for line in lines] == ["1. Homes first", "2. Roads then"]
    assert [line.places for line in lines] == [((0, 2), (4, 14)), ((2, 4), (14, 23))]
    assert lines[0].box == pytest.approx((57.0, 100.0, 160.0, 109.0), abs=0.1)


def test_the_size_is_estimated_by_the_letters() -> None:
    # 12 points: capitals are 8.6 high, letters without ascenders 6.
    lines = read_scanned_lines(
        page(word("Homes", 57, 100, 8.6, starts=True), word("now", 57, 130, 6.0, starts=True)),
        WIDTH,
        HEIGHT,
    )
    assert [line.size for line in lines] == [pytest.approx(12.0, abs=0.3)] * 2


def test_a_small_number_marks_a_footnote() -> None:
    note = page(word("7", 57, 700, 4.0, starts=True), word("See", 64, 702), word("Annex", 90, 702))
    [line] = read_scanned_lines(note, WIDTH, HEIGHT)
    assert line.marked


def test_without_words_lines_have_no_layout() -> None:
    [line] = read_scanned_lines(Page(1, "Homes", Method.OCR), WIDTH, HEIGHT)
    assert (line.text, line.box) == ("Homes", None)
