"""References in queries, and what they name."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quinion.lexical.word_query import parse_query
from quinion.model.record import Hit, Match, Record, Scalar
from quinion.search.references import Reference, find_references, promote


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("paragraph 116", [("paragraph", "116")]),
        ("What does Para. 116 say?", [("paragraph", "116")]),
        ("Policy DP12", [("policy", "dp12")]),
        ("DP12", [("", "dp12")]),
        ("policy CC1.2 and Policies H1", [("policy", "cc1.2"), ("policy", "h1")]),
        ("Figure 4.2", [("figure", "4.2")]),
        ("fig 3-1 or Table 5–2", [("figure", "3-1"), ("table", "5-2")]),
        ("Annex A", [("annex", "a")]),
        ("a policy a council adopts", [("policy", "a")]),
        ("chapter 9", [("chapter", "9")]),
        ("the equations of the parties and their tables", []),
        ("25/01178/REM", []),
        ("332 spaces", []),
        ("the policy on parking", []),
        ("", []),
    ],
)
def test_references_are_found(text: str, found: list[tuple[str, str]]) -> None:
    assert find_references(text) == [Reference(*one) for one in found]


def hit(id_: str, score: float, text: str, **metadata: Scalar) -> Hit:
    return Hit(Record(id_, text, metadata), 0.5, Match(score, ()))


def order(query: str, *hits: Hit) -> str:
    return "".join(
        one.record.id for one in promote(hits, find_references(query), parse_query(query))
    )


MENTION = hit("m", 1.0, "see paragraph 116 of the Framework")


@pytest.mark.parametrize(
    "named",
    [
        hit("n", 0.3, "Development should", section_ref="Para 116"),
        hit("n", 0.3, "Development should", section_path="Chapter 9\nPara 116"),
        hit("n", 0.3, "116. Development should"),
        hit("n", 0.3, "Text before.\n116.\tDevelopment should"),
        hit("n", 0.3, "Paragraph 116: development"),
        hit("n", 0.3, "Development", header_path="Transport > Paragraph 116"),
    ],
)
def test_what_a_reference_names_comes_first(named: Hit) -> None:
    assert order("paragraph 116", MENTION, named) == "nm"


@pytest.mark.parametrize(
    ("query", "other"),
    [
        ("Figure 4.2", hit("o", 0.9, "Figure 4.21 shows", label="Figure 4.21")),
        ("Figure 4.2", hit("o", 0.9, "Table 4.2 shows", label="Table 4.2")),
        ("Policy DP12", hit("o", 0.9, "Policy DP1", section_ref="Policy DP1")),
        ("paragraph 116", hit("o", 0.9, "1167 homes")),
        ("paragraph 16", hit("o", 0.9, "116. Development")),
        ("policy DP1", hit("o", 0.9, "DP12 of the plan")),
    ],
)
def test_what_a_reference_does_not_name_keeps_its_score(query: str, other: Hit) -> None:
    assert promote([other], find_references(query), parse_query(query)) == [other]


@pytest.mark.parametrize(
    ("query", "other", "named"),
    [
        ("paragraph 51", "51", "51. Planning policies"),
        ("paragraph 51", "51", "51\tPlanning policies"),
        ("paragraph 51", "51 homes were built", "51 “Windfall sites” are"),
        ("paragraph 51", "51 homes were built", "51.\nPlanning policies"),
        ("section 5.2", "5.2 million people", "5.2\nPlanning policies"),
        ("section 5.2", "5.2 million people", "5.2 Éducation"),
        ("Policy DP1", "DP1 and other policies", "Policy DP1: housing"),
        ("Figure 4.2", "4.2 homes", "Figure 4.2 Homes"),
    ],
)
def test_a_line_that_begins_with_a_number_for_another_reason_counts_less(
    query: str, other: str, named: str
) -> None:
    assert order(query, hit("o", 0.9, other), hit("n", 0.3, named)) == "no"


def test_a_code_alone_is_named_by_a_line_that_begins_with_it() -> None:
    assert order("DP1", hit("o", 1.0, "of policy DP1"), hit("n", 0.3, "DP1 Housing")) == "no"


def test_a_reference_in_a_longer_query_counts_less_than_its_other_words() -> None:
    heading = hit("h", 0.3, "116. Development should")
    query = "what does paragraph 116 say about severe cumulative impacts on roads?"
    assert order(query, MENTION, heading) == "mh"


@given(st.text(max_size=300), st.text(max_size=300))
def test_nothing_is_lost(query: str, text: str) -> None:
    references = [*find_references(query), Reference("policy", "h1")]
    hits = [hit("a", 1.0, text), hit("b", 0.5, query, label=text), hit("c", 0.1, "Policy H1")]
    found = promote(hits, references, parse_query(query))
    assert sorted(one.record.id for one in found) == ["a", "b", "c"]
    scores = [one.match.score for one in found if one.match]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("part", ["1.", "a1-", "para ", "fig1 ", "(", "\n", "policy a"])
def test_a_long_hostile_text_takes_linear_time(part: str) -> None:
    text = (part * 300_000)[:300_000]
    began = time.process_time()
    promote([hit("a", 1.0, text)], [Reference("paragraph", "1")], parse_query("para 1"))
    find_references(text)
    assert time.process_time() - began < 20.0
