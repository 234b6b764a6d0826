"""Marks cover the words of a passage and no others."""

from collections.abc import Sequence

import pytest

from quinion.evidence.marks import Region, is_passage, mark
from quinion.model.page import (
    Box,
    PageSpan,
    PageWords,
    Word,
    decode_words,
    encode_words,
)

HEIGHT = 0.02


def page_of(*lines: Sequence[tuple[str, float]], height: float = HEIGHT) -> PageWords:
    """A page of lines; a word has a letter's width of a hundredth of the page."""
    words = [
        Word(text, (left, top, left + 0.01 * len(text), top + height), starts_line=not number)
        for row, line in enumerate(lines)
        for top in [0.1 + 0.03 * row]
        for number, (text, left) in enumerate(line)
    ]
    page = decode_words(encode_words(words, (600, 800)))
    assert page is not None
    return page


def mark_of(page: PageWords, text: str, number: int = 1) -> Region:
    """Mark the n-th occurrence of a text."""
    start = -1
    for _ in range(number):
        start = page.text.index(text, start + 1)
    spans = [PageSpan(1, start, start + len(text))]
    assert is_passage(text, spans, {1: page})
    return mark(1, page, spans)


def covered(page: PageWords, boxes: Sequence[Box]) -> list[str]:
    """The words whose centres are covered."""
    found = []
    for index, (left, top, right, bottom) in enumerate(page.boxes):
        x, y = (left + right) / 2, (top + bottom) / 2
        if any(box[0] < x < box[2] and box[1] < y < box[3] for box in boxes):
            found.append(page.text[page.offsets[index] : page.offsets[index + 1]])
    return found


PARAGRAPH = page_of(
    [("one", 0.1), ("two", 0.2), ("three", 0.3)],
    [("four", 0.1), ("five", 0.2), ("six", 0.3)],
    [("seven", 0.1), ("eight", 0.2), ("nine", 0.3)],
)


def test_the_first_and_the_last_line_are_marked_in_part() -> None:
    region = mark_of(PARAGRAPH, "threefourfivesixseven")
    assert covered(PARAGRAPH, region.boxes) == ["three", "four", "five", "six", "seven"]
    assert len(region.boxes) == 3
    assert region.boxes[0] == pytest.approx((0.3, 0.1, 0.35, 0.12), abs=1e-4)


def test_lines_are_joined_to_blocks_only_where_no_other_word_is_covered() -> None:
    region = mark_of(PARAGRAPH, "threefourfivesixseven")
    assert covered(PARAGRAPH, region.blocks) == covered(PARAGRAPH, region.boxes)
    [block] = mark_of(PARAGRAPH, PARAGRAPH.text).blocks
    assert block == pytest.approx((0.1, 0.1, 0.35, 0.18), abs=1e-4)


def test_repeated_text_is_marked_where_it_was_cited() -> None:
    page = page_of([("same", 0.1), ("same", 0.2)], [("same", 0.1), ("end", 0.2)])
    for number, place in ((1, (0.1, 0.1)), (2, (0.2, 0.1)), (3, (0.1, 0.13))):
        [box] = mark_of(page, "same", number).boxes
        assert box[:2] == pytest.approx(place, abs=1e-4)


def test_columns_are_marked_one_by_one() -> None:
    left = [[("left", 0.1), ("column", 0.2)], [("goes", 0.1), ("on", 0.2)]]
    right = [[("right", 0.6), ("column", 0.7)], [("ends", 0.6), ("here", 0.7)]]
    words = []
    for column in (left, right):
        for row, line in enumerate(column):
            top = 0.1 + 0.03 * row
            words += [
                Word(text, (x, top, x + 0.06, top + HEIGHT), starts_line=not number)
                for number, (text, x) in enumerate(line)
            ]
    page = decode_words(encode_words(words, (600, 800)))
    assert page is not None
    region = mark_of(page, "goesonrightcolumn")
    assert covered(page, region.boxes) == ["goes", "on", "right", "column"]
    assert covered(page, region.blocks) == ["goes", "on", "right", "column"]


def test_cells_between_the_words_of_a_line_are_not_marked() -> None:
    # The line of the passage has a gap in which another column's text stands.
    words = [
        Word("wide", (0.1, 0.1, 0.2, 0.12), starts_line=True),
        Word("gap", (0.8, 0.1, 0.9, 0.12)),
        Word("between", (0.4, 0.1, 0.6, 0.12), starts_line=True),
    ]
    page = decode_words(encode_words(words, (600, 800)))
    assert page is not None
    region = mark_of(page, "widegap")
    assert covered(page, region.boxes) == ["wide", "gap"]
    assert len(region.boxes) == 2


def test_a_large_initial_does_not_widen_its_line_to_the_next_one() -> None:
    words = [
        Word("O", (0.1, 0.1, 0.14, 0.138), starts_line=True),
        Word("nce", (0.15, 0.1, 0.2, 0.12)),
        Word("upon", (0.21, 0.1, 0.3, 0.12)),
        Word("a", (0.15, 0.128, 0.2, 0.148), starts_line=True),
        Word("time", (0.21, 0.128, 0.3, 0.148)),
    ]
    page = decode_words(encode_words(words, (600, 800)))
    assert page is not None
    region = mark_of(page, "Onceupon")
    assert covered(page, region.boxes) == ["O", "nce", "upon"]
    assert max(bottom for left, _, _, bottom in region.boxes if left > 0.14) < 0.125
    assert region.blocks == region.boxes


def test_invisible_words_are_kept_apart() -> None:
    words = [
        Word("seen", (0.1, 0.1, 0.2, 0.12), starts_line=True),
        Word("secret", (0.3, 0.1, 0.4, 0.12), hidden=True),
    ]
    page = decode_words(encode_words(words, (600, 800)))
    assert page is not None
    region = mark_of(page, "seensecret")
    assert covered(page, region.boxes) == ["seen"]
    assert covered(page, region.hidden) == ["secret"]


def test_a_place_with_another_text_is_not_the_passage() -> None:
    pages = {1: PARAGRAPH}
    assert is_passage("two three\nfour", [PageSpan(1, 3, 15)], pages)
    assert not is_passage("two three five", [PageSpan(1, 3, 15)], pages)
    assert not is_passage("two three four", [PageSpan(1, 3, 14)], pages)
    assert not is_passage("two three four", [PageSpan(1, 90, 99)], pages)


def test_a_page_of_two_thousand_words_is_marked_word_for_word() -> None:
    rows = [
        [(f"w{row:02}{column:02}", 0.05 + 0.02 * column) for column in range(40)]
        for row in range(50)
    ]
    words = [
        Word(text, (left, 0.018 * row, left + 0.015, 0.018 * row + 0.012), starts_line=not number)
        for row, line in enumerate(rows)
        for number, (text, left) in enumerate(line)
    ]
    page = decode_words(encode_words(words, (600, 800)))
    assert page is not None
    wanted = [text for row in rows for text, _ in row][955:1105]
    region = mark_of(page, "".join(wanted))
    assert covered(page, region.boxes) == wanted
    assert covered(page, region.blocks) == wanted
