"""Reading order: columns, headings across them, tables, margin notes and numbers of lines."""

from quinion.extract.ocr.reading_order import Line, order_lines
from quinion.extract.ocr.words import Word

SIZE = 20
PITCH = 24
LETTER = 10


def line(text: str, left: int, top: int) -> Line:
    words = []
    for part in text.split():
        right = left + LETTER * len(part)
        words.append(Word(part, 99.0, (0, 0, 0), (left, top, right, top + SIZE)))
        left = right + LETTER
    return words


def column(texts: list[str], left: int, top: int = 0, pitch: int = PITCH) -> list[Line]:
    return [line(text, left, top + index * pitch) for index, text in enumerate(texts)]


def read(*lines: Line) -> list[str]:
    return [
        " ".join(word.text for one in row for word in one)
        for paragraph in order_lines(lines)
        for row in paragraph
    ]


LEFT = [
    "The yard has two hundred covered",
    "spaces for bicycles, all of them",
    "lit at night and overlooked from",
    "offices. Visitors find ten other",
    "stands beside the northern gate,",
    "which remain open until midnight",
    "on every day of the week. Nobody",
    "may leave a bicycle for a longer",
    "time than it takes to visit all.",
]
RIGHT = [
    "Each stand is bolted to concrete",
    "of a depth that the drawings set",
    "out. Where roots of old trees do",
    "not allow it, a smaller one will",
    "hold two stands instead of four,",
    "and a rail is added between both",
    "ends. The contractor paints them",
    "grey before the first of October",
    "and again when three years pass.",
]


def test_columns_are_read_one_after_the_other() -> None:
    assert read(*column(RIGHT, 420), *column(LEFT, 0)) == LEFT + RIGHT


def test_a_heading_across_columns_is_read_before_them_and_a_footer_after() -> None:
    heading = "A heading that runs across the page and both of its columns of text"
    footer = "A footer that runs across the page and both of its columns of text"
    lines = [line(footer, 0, 400), *column(RIGHT, 420, 60), *column(LEFT, 0, 60)]
    assert read(*lines, line(heading, 0, 0)) == [heading, *LEFT, *RIGHT, footer]


def test_a_line_that_was_read_across_a_narrow_gutter_is_divided() -> None:
    left, right = column(LEFT, 0), column(RIGHT, 390)
    lines = [*left[:3], *right[:3], left[3] + right[3], *left[4:], *right[4:]]
    assert read(*lines) == LEFT + RIGHT


def test_a_table_is_read_row_by_row() -> None:
    names = ["Item", "Cycle stands", "Lamps", "Gates", "Benches", "Trees"]
    counts = ["Count", "12", "8", "2", "6", "40"]
    found = read(*column(counts, 400), *column(names, 0))
    assert found == [f"{name} {count}" for name, count in zip(names, counts, strict=True)]


def test_margin_notes_are_read_apart_from_the_text_beside_them() -> None:
    notes = ["See also", "the plan", "of 1998"]
    found = read(*column(notes, 420, top=11, pitch=57), *column(LEFT, 0))
    assert found == LEFT + notes


def test_numbers_of_lines_are_read_apart() -> None:
    numbers = [str(number) for number in range(1, 10)]
    assert read(*column(LEFT, 100), *column(numbers, 0)) == numbers + LEFT


def test_a_wide_gap_begins_a_paragraph() -> None:
    assert len(order_lines([*column(LEFT[:2], 0), *column(LEFT[:2], 0, top=100)])) == 2


def test_a_page_without_words_has_no_paragraphs() -> None:
    assert order_lines([]) == []
