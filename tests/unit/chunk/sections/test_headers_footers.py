from collections.abc import Sequence
from dataclasses import replace

from quinion.chunk.sections.headers_footers import find_furniture
from quinion.model.line import Line

NAMES = ("Aims", "Homes", "Roads", "Trees", "Water", "Noise", "Soil", "Light")


def at(page: int, top: float, text: str, size: float = 11.0) -> Line:
    return Line(page, text, (57.0, top, 57.0 + 5 * len(text), top + size), size)


def pages(count: int = 8) -> list[list[Line]]:
    """Pages of text that start at the same height, all with different words."""
    return [
        [
            at(page, 60.0 + 14 * row, f"{NAMES[page % 8]} of {NAMES[row]} are discussed at length")
            for row in range(8)
        ]
        for page in range(1, count + 1)
    ]


def furniture(lines: Sequence[Line]) -> list[str]:
    return [lines[index].text for index in sorted(find_furniture(lines))]


def test_text_has_none() -> None:
    assert furniture([line for page in pages() for line in page]) == []


def test_headers_footers_and_page_numbers_are_found_at_any_stream_position() -> None:
    lines: list[Line] = []
    for number, page in enumerate(pages(), 1):
        lines += [
            at(number, 800.0, f"Page {number + 2} of 10"),
            *page,
            at(number, 20.0, "The plan"),
        ]
    assert furniture(lines) == [
        text for number in range(1, 9) for text in (f"Page {number + 2} of 10", "The plan")
    ]


def test_a_header_that_changes_with_the_chapter_is_found() -> None:
    headers = ["2 Homes"] * 3 + ["3 Roads"] * 2 + ["4 Trees"] + ["5 Water"] * 2
    lines: list[Line] = []
    for number, (page, header) in enumerate(zip(pages(), headers, strict=True), 1):
        lines += [at(number, 20.0, header, 14.0), *page]
    assert furniture(lines) == headers


def test_both_lines_of_a_header_are_found() -> None:
    lines: list[Line] = []
    for number, page in enumerate(pages(), 1):
        lines += [at(number, 20.0, "The plan of a town", 14.0), *page]
    lines.insert(1, at(1, 33.0, "and of its surroundings", 14.0))
    assert "and of its surroundings" in furniture(lines)


def test_a_policy_heading_at_the_top_of_each_page_is_not_a_header() -> None:
    lines: list[Line] = []
    for number, page in enumerate(pages(), 1):
        lines += [at(number, 40.0, f"Policy {number}", 14.0), *page]
    assert furniture(lines) == []


def test_text_at_the_height_of_a_header_is_not_a_header() -> None:
    lines: list[Line] = []
    prose = "This page has no header, and so its text begins where the others have theirs,"
    for number, page in enumerate(pages(), 1):
        lines += [
            at(number, 20.0, "The plan" if number < 7 else f"{prose} {NAMES[number % 8]}."),
            *page,
        ]
    assert furniture(lines) == ["The plan"] * 6


def test_two_page_numbers_are_enough() -> None:
    first, second = pages(2)
    assert furniture([*first, at(1, 800.0, "1"), *second, at(2, 800.0, "2")]) == ["1", "2"]


def test_a_number_at_the_foot_that_does_not_follow_the_pages_is_not_a_page_number() -> None:
    lines: list[Line] = []
    for number, page in enumerate(pages(), 1):
        lines += [*page, at(number, 300.0 + 20 * number, str(number * number + 7))]
    assert furniture(lines) == []


def test_without_boxes_the_first_and_last_lines_are_checked() -> None:
    lines: list[Line] = []
    for number, page in enumerate(pages(), 1):
        lines += [at(number, 0, "The plan"), *page, at(number, 0, str(number))]
    bare = [replace(line, box=None, size=None) for line in lines]
    assert set(furniture(bare)) == {"The plan", *(str(number) for number in range(1, 9))}
    assert len(furniture(bare)) == 16
