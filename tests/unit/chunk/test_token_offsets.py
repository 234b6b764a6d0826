import pytest
from hypothesis import given
from hypothesis import strategies as st

from quinion.chunk.token_offsets import CHARACTERS, TokenOffsets
from tests.tokens import by_model, by_words

WORDS = [
    "planning",
    "naïve",
    "한국어",
    "中文字",
    "x" * 120,
    "don't",
    "foo\x0cbar",
    "…",
    "\ufffd",
    "e\u0301",
]


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=20), st.data())
def test_between_blanks_a_span_has_the_tokens_that_it_has_alone(
    words: list[str], data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first + 1, len(words)))
    before, span = " ".join(words[:first]), " ".join(words[first:last])
    start = len(before) + 1 if before else 0
    offsets = TokenOffsets(" ".join(words), by_model())
    assert offsets.count(start, start + len(span)) == len(by_model()(span))


@pytest.mark.parametrize(("start", "end"), [(0, 50), (50, 150), (20, 60)])
def test_a_part_of_a_word_is_measured_by_itself(start: int, end: int) -> None:
    word = "abcde" * 30
    offsets = TokenOffsets(word, by_model())
    assert offsets.count(0, 150) == 1
    assert offsets.count(start, end) == len(by_model()(word[start:end]))


def test_a_span_reaches_up_to_the_token_that_would_be_one_too_many() -> None:
    offsets = TokenOffsets("one two three four", by_words)
    assert offsets.reach(0, 2) == len("one two ")
    assert offsets.reach(4, 2) == len("one two three ")
    assert offsets.reach(4, 9) == len("one two three four")


def test_a_span_is_limited_in_characters_too() -> None:
    offsets = TokenOffsets("x" * 1000, by_words)
    assert offsets.reach(100, 10) == 100 + CHARACTERS * 10


def test_a_span_weighs_its_tokens_or_what_so_many_characters_weigh() -> None:
    offsets = TokenOffsets("a b c d " + "x" * 80, by_words)
    assert offsets.weigh(0, 7) == 4
    assert offsets.weigh(8, 88) == 10
    assert offsets.weigh(8, 89 - 8) == 10
