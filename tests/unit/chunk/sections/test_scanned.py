"""Scanned lines: equal sizes, and numbers of chapters and paragraphs that OCR garbled or missed."""

import pytest

from quinion.chunk.sections.scanned import read_garbled, settle
from quinion.chunk.sections.split import find_sections
from quinion.model.line import Line
from quinion.model.section import Kind

PROSE = "Plans should make sufficient provision for homes, jobs and roads nearby."


def at(page: int, top: float, text: str, size: float = 12.0) -> Line:
    box = (57.0, top, 57.0 + 5 * len(text), top + size)
    return Line(page, text, box, size, is_scanned=True)


def chapter(page: int, heading: str, size: float, first: int) -> list[Line]:
    body = [
        at(page, 100.0 + 14 * row, f"{first + row}. {PROSE}", 12.0 + 0.1 * (row % 4))
        for row in range(4)
    ]
    return [at(page, 60.0, heading, size), *body]


def document(*headings: str) -> list[Line]:
    return [
        line
        for page, heading in enumerate(headings, 1)
        for line in chapter(page, heading, 24.0 + page % 3 / 5, 4 * page - 3)
    ]


def chapters(lines: list[Line]) -> dict[str, str]:
    return {one.ref: one.title for one in find_sections(lines) if one.kind is Kind.CHAPTER}


def test_sizes_of_lines_that_are_printed_alike_are_equal() -> None:
    lines = document("1. Homes", "2. Jobs", "3. Roads")
    sizes = {line.size for line in settle(lines)}
    assert len(sizes) == 2
    assert len({line.size for line in lines}) > 2


def test_lines_of_a_text_layer_remain_as_they_are() -> None:
    lines = [Line(1, "1.Homes", (57.0, 60.0, 99.0, 84.0), 24.1)]
    assert settle(lines) is lines


def test_chapters_whose_number_was_garbled_or_missed_get_the_missing_one() -> None:
    found = chapters(document("1. Homes", "oF Jobs", "3.Roads", "Town centres", "5. Water"))
    assert found == {
        "Chapter 1": "Homes",
        "Chapter 2": "Jobs",
        "Chapter 3": "Roads",
        "Chapter 4": "Town centres",
        "Chapter 5": "Water",
    }


def test_headings_remain_without_a_number_where_the_count_does_not_demand_one() -> None:
    found = chapters(document("1. Homes", "2. Jobs", "Town centres", "3. Roads", "4. Water"))
    assert list(found) == ["Chapter 1", "Chapter 2", "Chapter 3", "Chapter 4"]
    assert "Town centres" not in found.values()


@pytest.mark.parametrize(
    ("text", "number"),
    [("l16. The", "116"), ("1l6. The", "116"), ("11 6. The", "116"), ("I2, The", "12")],
)
def test_a_garbled_number_is_read(text: str, number: str) -> None:
    assert read_garbled(text) == (number, "The")


@pytest.mark.parametrize("text", ["in. The", "a. The", "The plan", "116"])
def test_words_are_no_numbers(text: str) -> None:
    assert read_garbled(text) is None


def test_a_garbled_paragraph_is_found_if_it_follows() -> None:
    lines = document("1. Homes", "2. Jobs", "3. Roads")
    texts = [line.text.replace("11. ", "l1. ") for line in lines]
    lines = [
        Line(line.page_number, text, line.box, line.size, is_scanned=True)
        for line, text in zip(lines, texts, strict=True)
    ]
    refs = {one.ref for one in find_sections(lines)}
    assert "Para 11" in refs
