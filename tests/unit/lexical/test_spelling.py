"""Spelling variants of words that the index lacks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quinion.lexical.spelling import find_variants, has_variants
from quinion.lexical.tokens import stem


@pytest.mark.parametrize("typo", ["goverment", "governmnet", "govornment", "governnment"])
def test_one_letter_more_less_other_or_swapped_is_found(typo: str) -> None:
    assert stem("government") in find_variants(typo)


@pytest.mark.parametrize("word", ["h4", "e4217", "2024", "cat", "", "x" * 100, "a/b"])
def test_numbers_codes_and_short_words_have_no_variants(word: str) -> None:
    assert not has_variants(word)


@given(st.text("abcxyz", min_size=4, max_size=12))
def test_the_word_itself_is_no_variant(word: str) -> None:
    assert has_variants(word)
    assert stem(word) not in find_variants(word)
