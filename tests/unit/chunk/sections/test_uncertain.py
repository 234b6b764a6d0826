"""Sections of pages without layout whose paragraph numbers OCR has moved or lost."""

from collections.abc import Sequence

from quinion.chunk.sections.references import select
from quinion.chunk.sections.split import chunk_sections, find_sections
from quinion.model.line import Line

PROSE = "Planning decisions weigh what a proposal brings against what it takes away in"


def pages(*texts: Sequence[str]) -> list[Line]:
    return [Line(number, text) for number, page in enumerate(texts, 1) for text in page]


def para(number: object) -> str:
    return f"{number}. {words(number)}"


def words(number: object) -> str:
    return f"{PROSE} the matter of place {number}."


def refs(lines: Sequence[Line]) -> list[str]:
    return [section.ref for section in find_sections(lines)]


def text_of(lines: Sequence[Line], ref: str) -> str:
    return "\n".join(chunk.text for chunk in select(chunk_sections(lines), ref))


FIRST = [para(number) for number in range(1, 9)]
POOLED = pages(
    FIRST,
    ["9.", "10.", words(9), words(10)],
    [words("10 still"), para(11), para(12)],
)


def test_a_page_with_numbers_on_lines_of_their_own_is_cited_by_page() -> None:
    assert refs(POOLED)[7:] == ["Para 8", "Page 2", "Page 3", "Para 11", "Para 12"]


def test_the_paragraph_before_such_a_page_keeps_its_own_text() -> None:
    assert text_of(POOLED, "Para 8") == para(8)
    assert words(9) in text_of(POOLED, "Page 2")


def test_a_paragraph_before_a_number_that_is_nowhere_is_not_cited() -> None:
    lines = pages(FIRST, [words(9)], [para(10), para(11)])
    assert refs(lines)[6:] == ["Para 7", "Page 1", "Page 2", "Para 10", "Para 11"]


def test_numbers_alone_before_the_first_paragraph_make_their_page_uncertain() -> None:
    lines = pages(["3.", "4.", words(3), words(4)], [para(number) for number in range(5, 14)])
    assert refs(lines)[:2] == ["Page 1", "Para 5"]


def test_numbers_alone_after_the_last_paragraph_make_their_page_uncertain() -> None:
    lines = pages(FIRST, ["9.", words(9)])
    assert refs(lines)[7:] == ["Para 8", "Page 2"]


def test_a_page_inside_a_chapter_stays_in_it_if_the_numbers_name_it() -> None:
    dotted = [para(f"5.{number}") for number in range(1, 5)]
    lines = pages(dotted, ["5.5", words("5.5")], [para("5.6"), para("6.1"), para("6.2")])
    sections = {section.ref: section.path for section in find_sections(lines)}
    assert sections["Page 2"] == ("Chapter 5", "Page 2")
    assert sections["Para 5.6"] == ("Chapter 5", "Para 5.6")


def test_a_page_is_in_no_chapter_if_the_numbers_do_not_name_it() -> None:
    chapters = ["1. Aims 1", "2. Homes 2", "3. Roads 3", "4. Terms 4"]
    lines = pages(
        chapters, ["2. Homes", *FIRST], ["3.", "9.", "Roads", words(9)], [para(10), para(11)]
    )
    sections = {section.ref: section.path for section in find_sections(lines)}
    assert sections["Para 8"] == ("Chapter 2", "Para 8")
    assert sections["Page 3"] == ("Page 3",)
    assert sections["Para 10"] == ("Para 10",)


def test_a_label_after_the_last_number_alone_is_certain_again() -> None:
    lines = pages(
        FIRST, ["9.", words(9)], [words("9 still"), "Policy H1: Homes", PROSE], [para(10)]
    )
    assert refs(lines)[7:] == ["Para 8", "Page 2", "Page 3", "Policy H1", "Para 10"]


def test_a_policy_before_a_code_that_is_missing_is_not_cited() -> None:
    lines = pages(
        ["Policy H1: Homes", PROSE],
        ["Policy H2: Size", PROSE],
        ["$3: Density", PROSE],
        ["Policy H4: Tenure", PROSE, "Policy T1: Roads", PROSE],
    )
    assert refs(lines) == ["Policy H1", "Page 2", "Page 3", "Policy H4", "Policy T1"]


def test_each_line_stays_in_one_section() -> None:
    joined = "\n".join(section.text for section in find_sections(POOLED))
    assert joined == "\n".join(line.text for line in POOLED)


def test_a_chapter_may_start_with_its_first_subparagraph() -> None:
    contents = ["1. Aims 1", "2. Homes 2", "3. Roads 3", "4. Terms 4"]
    lines = pages(contents, ["2. Homes", para("2.1.1"), para("2.1.2")], ["3. Roads", para("3.1.1")])
    assert refs(lines)[1:] == ["Chapter 2", "Para 2.1.1", "Para 2.1.2", "Chapter 3", "Para 3.1.1"]
