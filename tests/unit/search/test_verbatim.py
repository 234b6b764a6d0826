"""Short queries that a text contains word for word."""

import time

import pytest

from quinion.lexical.word_query import parse_query
from quinion.model.record import Hit, Match, Record
from quinion.search.verbatim import find_pattern, promote_verbatim


def order(query: str, *texts: str) -> list[int]:
    hits = [
        Hit(Record(str(n), text, {}), 0.5, Match(1 - n / 10, ("a",)))
        for n, text in enumerate(texts)
    ]
    pattern = find_pattern(query, parse_query(query))
    assert pattern
    found = promote_verbatim(hits, pattern)
    scores = [hit.match.score for hit in found if hit.match]
    assert scores == sorted(scores, reverse=True)
    return [int(hit.record.id) for hit in found]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("50 homes", "There are 50 homes"),
        ("50 homes", "50\nHomes"),
        ("the Jane Smith", "Asked by the Jane  Smith of here"),
        ("snake case", "the snake_case name"),
        ("(2.4) m", "a fence of 2.4 m"),
        ("чертёж здания", "Чертёж здания"),
    ],
)
def test_a_text_with_the_query_word_for_word_comes_first(query: str, text: str) -> None:
    assert order(query, "another", "homes with 50 rooms", text) == [2, 0, 1]


@pytest.mark.parametrize("text", ["150 homes", "50 homesteads", "50 new homes", "homes 50", ""])
def test_other_texts_keep_their_scores(text: str) -> None:
    assert order("50 homes", "another", text) == [0, 1]


@pytest.mark.parametrize(
    "query",
    ["homes", "", "?!", "the of", "a question with more content words than a short one has"],
)
def test_one_word_stop_words_and_long_queries_are_not_sought_verbatim(query: str) -> None:
    assert find_pattern(query, parse_query(query)) is None


def test_a_hostile_text_takes_little_time() -> None:
    began = time.process_time()
    order("a1 a1 a1 a2", "a1 " * 300_000, "_" * 1_000_000)
    assert time.process_time() - began < 5.0
