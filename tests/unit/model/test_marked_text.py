"""Texts with their changed words marked."""

import pytest

from quinion.compare.revisions import compare
from quinion.model.comparison import Row, SectionText
from quinion.model.marked_text import Mark, Piece, flow, mark_after, mark_before, mark_both


def row_of(before: str, after: str) -> Row:
    sides = (
        [SectionText("Para 1", ("Para 1",), (1,), text)] if text else [] for text in (before, after)
    )
    [row] = compare(*sides).rows
    return row


def written(pieces: list[Piece]) -> str:
    """The pieces, removed ones in square and added ones in curly brackets."""
    brackets = {Mark.SAME: "{}", Mark.REMOVED: "[{}]", Mark.ADDED: "{{{}}}"}
    return "".join(brackets[piece.mark].format(piece.text) for piece in pieces)


BEFORE = "1. Homes should be built near a station, within reason, and not on farms."


@pytest.mark.parametrize(
    ("after", "left", "right", "both"),
    [
        (
            "1. Homes must be built near a station, within reason, and not on farms.",
            "1. Homes [should] be built near a station, within reason, and not on farms.",
            "1. Homes {must} be built near a station, within reason, and not on farms.",
            "1. Homes [should] {must} be built near a station, within reason, and not on farms.",
        ),
        (
            "1. Homes should be built near a station, within reason, and on farms.",
            "1. Homes should be built near a station, within reason, and [not] on farms.",
            "1. Homes should be built near a station, within reason, and on farms.",
            "1. Homes should be built near a station, within reason, and [not] on farms.",
        ),
        (
            "1. Homes should be built near a bus station, within reason, and not on farms.",
            "1. Homes should be built near a station, within reason, and not on farms.",
            "1. Homes should be built near a {bus} station, within reason, and not on farms.",
            "1. Homes should be built near a {bus} station, within reason, and not on farms.",
        ),
    ],
)
def test_changed_words_are_marked(after: str, left: str, right: str, both: str) -> None:
    row = row_of(BEFORE, after)
    assert written(mark_before(row)) == left
    assert written(mark_after(row)) == right
    assert written(mark_both(row)) == both


def test_a_section_on_one_side_is_marked_whole() -> None:
    assert written(mark_both(row_of(BEFORE, ""))) == f"[{BEFORE}]"
    assert written(mark_both(row_of("", BEFORE))) == f"{{{BEFORE}}}"


def test_line_breaks_of_print_become_spaces_and_those_of_lists_stay() -> None:
    text = "Plans should\nset out:\na) homes and\nroads;\n(ii) trees;\n• water\n\nEnd"
    flowed = flow(text)
    assert flowed == "Plans should set out:\na) homes and roads;\n(ii) trees;\n• water\n\nEnd"
    assert len(flowed) == len(text)
