"""Parsing of search queries into words and phrases."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quinion.lexical.word_query import MAX_WORDS, parse_query


def terms_of(query: str) -> list[str]:
    return [term for word in parse_query(query).words for term in word.terms]


def test_stop_words_are_left_out() -> None:
    query = parse_query("What is the minimum density of homes?")
    assert [word.word for word in query.words] == ["minimum", "density", "homes"]
    assert query.content_words == 3


def test_of_only_stop_words_these_are_searched_for() -> None:
    query = parse_query("Who are we?")
    assert [word.word for word in query.words] == ["who", "are", "we"]
    assert query.content_words == 0


@pytest.mark.parametrize("query", ["", " ", "?!", "\0", '""', '"', "* : ( )", "“”"])
def test_punctuation_alone_has_no_words(query: str) -> None:
    parsed = parse_query(query)
    assert (parsed.words, parsed.phrases, parsed.content_words) == ((), (), 0)


def test_operators_are_words() -> None:
    assert terms_of("h4 NEAR(site*) text:flood ^2 -risk") == [
        *("h4", "near", "site", "text", "flood", "2", "risk")
    ]


def test_a_repeated_word_counts_once() -> None:
    assert terms_of("flood Flood FLOOD risk") == ["flood", "risk"]


def test_a_quoted_phrase_has_to_be_in_the_text() -> None:
    [phrase] = parse_query('policy on "The Green  Belt"').phrases
    assert phrase.words == ("the", "green", "belt")
    assert phrase.is_in("Within the green\nBelt, no")
    assert not phrase.is_in("the green and belt")
    assert not phrase.is_in("the green belts")
    assert terms_of('policy on "The Green  Belt"') == ["polici", "green", "belt"]


def test_a_quoted_part_of_a_reference_is_in_a_text_with_all_of_it() -> None:
    [phrase] = parse_query('"Y1945/429"').phrases
    assert phrase.is_in("our reference PINS/Y1945/429/7")
    assert phrase.terms == ("y1945", "429")


@pytest.mark.parametrize("query", ['flood "risk', '"', 'a 5" pipe', '"flood" "'])
def test_a_single_quotation_mark_is_ignored(query: str) -> None:
    assert len(parse_query(query).phrases) == query.count('"') // 2


def test_typographic_quotation_marks_are_marks_too() -> None:
    assert [phrase.words for phrase in parse_query("“flood risk”").phrases] == [("flood", "risk")]


def test_a_long_query_is_searched_by_its_first_words() -> None:
    query = parse_query(" ".join(f"word{number}" for number in range(5_000)))
    assert len(query.words) == MAX_WORDS


@given(st.text(max_size=300))
def test_any_query_is_parsed(text: str) -> None:
    query = parse_query(text)
    assert len({word.word for word in query.words}) == len(query.words)
    assert all(word.terms for word in query.words)
    assert all(phrase.is_in(text) for phrase in query.phrases)


@pytest.mark.parametrize("part", ['"', '"a', '"a" ', "“”", "a "])
def test_a_long_hostile_query_takes_linear_time(part: str) -> None:
    began = time.process_time()
    parse_query((part * 1_000_000)[:1_000_000])
    assert time.process_time() - began < 20.0
