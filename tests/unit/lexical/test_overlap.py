"""Text that two texts have in common."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quinion.lexical.overlap import (
    MAX_OVERLAP,
    MIN_OVERLAP,
    find_numbers,
    find_shingles,
    measure_overlap,
)

WORDS = "the first part of a text that two chunks have in common"


@pytest.mark.parametrize(
    ("first", "second", "overlap"),
    [
        (f"Before. {WORDS}", f"{WORDS} and after", len(WORDS)),
        (f"Before. {WORDS} and after", WORDS, len(WORDS)),
        (WORDS, WORDS, len(WORDS)),
        ("ends with common words", "common words begin it", 0),
        (WORDS, "another text altogether", 0),
        ("", WORDS, 0),
        (WORDS, "", 0),
    ],
)
def test_the_longest_common_end_is_found(first: str, second: str, overlap: int) -> None:
    assert measure_overlap(first, second) == overlap


@given(st.text(max_size=60), st.text(min_size=MIN_OVERLAP, max_size=60), st.text(max_size=60))
def test_texts_joined_without_their_overlap_have_everything_once(
    before: str, common: str, after: str
) -> None:
    first, second = before + common, common + after
    overlap = measure_overlap(first, second)
    assert overlap >= len(common)
    assert (first + second[overlap:]).startswith(first)
    assert second in first + second[overlap:]


def test_a_hostile_text_takes_little_time() -> None:
    began = time.process_time()
    assert measure_overlap("a" * 1_000_000, "a" * 999_999 + "b") == MAX_OVERLAP
    assert time.process_time() - began < 5.0


def test_shingles_ignore_case_and_white_space() -> None:
    assert find_shingles("A b c d  E\nf") == find_shingles("a B c D e F")
    assert len(find_shingles("a b c d e f")) == 2
    assert find_shingles("A b") == {("a", "b")}
    assert find_shingles(" ") == frozenset()


def test_numbers_are_found_as_they_are_written() -> None:
    assert find_numbers("2.4m in 1,200 homes of H4") == {"2.4", "1,200", "4"}
