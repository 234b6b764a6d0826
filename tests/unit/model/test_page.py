from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quinion.model.page import (
    HIDDEN,
    SCALE,
    STARTS_LINE,
    PageSpan,
    Word,
    decode_words,
    encode_words,
    format_spans,
    join_spans,
    parse_spans,
    without_spaces,
    words_of_text,
    words_to_text,
)

FRACTIONS = st.floats(0, 1)
WORDS = st.builds(
    Word,
    st.text(min_size=1, max_size=12).filter(lambda text: text == without_spaces(text)),
    st.tuples(FRACTIONS, FRACTIONS, FRACTIONS, FRACTIONS),
    st.booleans(),
    st.booleans(),
)


@given(st.lists(WORDS))
def test_words_survive_encoding_to_a_65535th_of_the_page(words: list[Word]) -> None:
    page = decode_words(words_of_text(words_to_text(encode_words(words, (595, 842)))))
    assert page is not None
    assert page.size == (595, 842)
    starts = pairwise(page.offsets)
    assert [page.text[start:end] for start, end in starts] == [word.text for word in words]
    for word, box, flags in zip(words, page.boxes, page.flags, strict=True):
        assert box == pytest.approx(word.box, abs=1 / SCALE)
        assert bool(flags & STARTS_LINE) == word.starts_line
        assert bool(flags & HIDDEN) == word.hidden


@pytest.mark.parametrize("cut", [0, 1, 10, -1])
def test_damaged_words_are_none(cut: int) -> None:
    assert decode_words(encode_words([Word("word", (0, 0, 1, 1))], (595, 842))[:cut]) is None


def test_a_part_of_the_text_has_the_words_that_it_touches() -> None:
    page = decode_words(
        encode_words([Word(text, (0, 0, 1, 1)) for text in ("ab", "cde", "f")], (1, 1))
    )
    assert page is not None
    assert list(page.within(0, 2)) == [0]
    assert list(page.within(1, 3)) == [0, 1]
    assert list(page.within(2, 5)) == [1]
    assert list(page.within(5, 6)) == [2]
    assert list(page.within(0, 6)) == [0, 1, 2]


def test_spans_are_read_as_they_were_written() -> None:
    spans = (PageSpan(14, 1020, 1780), PageSpan(15, 0, 95))
    assert format_spans(spans) == "14:1020-1780,15:0-95"
    assert parse_spans(format_spans(spans)) == spans
    assert parse_spans("") == ()


def test_spans_are_joined_only_where_nothing_is_between() -> None:
    parts = [(1, 0, 5), (1, 5, 9), (1, 9, 9), (1, 12, 14), (2, 14, 20)]
    assert join_spans([PageSpan(*part) for part in parts]) == (
        PageSpan(1, 0, 9),
        PageSpan(1, 12, 14),
        PageSpan(2, 14, 20),
    )
