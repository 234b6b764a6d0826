"""Differences between two texts by words, and what matters in law among them."""

import pytest

from quinion.compare.differences import find_flags, find_hunks, merge_hunks
from quinion.model.comparison import Flag


def changed(before: str, after: str) -> list[tuple[str, str]]:
    one, other = before.split(), after.split()
    return [
        (" ".join(one[h.b_start : h.b_end]), " ".join(other[h.a_start : h.a_end]))
        for h in merge_hunks(find_hunks(one, other))
    ]


def test_words_that_were_replaced_inserted_and_removed() -> None:
    assert changed("homes should be built here", "homes must be built") == [
        ("should", "must"),
        ("here", ""),
    ]
    assert changed("homes are built", "new homes are built") == [("", "new")]


def test_equal_texts_have_no_differences() -> None:
    assert changed("homes are built", "homes are built") == []


@pytest.mark.parametrize("other", ["decision making", "decisionmaking", "de cision making"])
def test_words_with_the_same_letters_are_no_difference(other: str) -> None:
    assert changed("in decision making only", f"in {other} only") == []


def test_numbers_with_the_same_digits_are_a_difference() -> None:
    assert changed("parts 1 10 apply", "parts 11 0 apply")


def test_a_short_run_of_equal_words_in_a_long_change_is_part_of_it() -> None:
    before, after = "a b c d the w x y z", "e f g h the k l m n"
    assert changed(before, after) == [(before, after)]
    assert changed("a the x", "b the y") == [("a", "b"), ("x", "y")]


def test_exchanging_the_texts_exchanges_the_sides() -> None:
    one, other = ["a", "b", "a", "b", "c", "a"], ["b", "a", "c", "b", "a", "a"]
    there, back = find_hunks(one, other), find_hunks(other, one)
    assert [(h.b_start, h.b_end) for h in there] == [(h.a_start, h.a_end) for h in back]


@pytest.mark.parametrize(
    ("before", "after", "flags"),
    [
        ("should", "must", {Flag.OBLIGATION}),
        ("", "not", {Flag.OBLIGATION}),
        ("or", "and", {Flag.OBLIGATION}),
        ("5", "10", {Flag.NUMBER}),
        ("10%", "10", {Flag.NUMBER}),
        ("2023", "2024", {Flag.DATE}),
        ("december", "may 2024", {Flag.DATE, Flag.OBLIGATION}),
        ("12 march", "14 march", {Flag.DATE}),
        ("", "and other places", set()),
        ("sites", "land", set()),
        ("should be", "be should", set()),
    ],
)
def test_numbers_dates_and_obligations_are_flagged(
    before: str, after: str, flags: set[Flag]
) -> None:
    assert set(find_flags(before.split(), after.split())) == flags
