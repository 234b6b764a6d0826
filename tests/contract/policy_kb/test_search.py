"""`search_policy`: what is found, in which order, under which filters; dates are in test_dates."""

import re
from datetime import date
from pathlib import Path

import pytest

from quinion.model.policy import RevisionEdit
from quinion.servers.policy_kb import tools
from quinion.store.policies import PolicyRegistry
from tests.contract.policy_kb import policies
from tests.contract.policy_kb.asking import (
    RESULT_FIELDS,
    SEARCH_ADDITIONS,
    SEARCH_KEYS,
    chunks_of,
    find,
    ingest_well,
    list_revisions,
    read,
    refusal,
    revise,
)
from tests.contract.session import Answer, Session

QUERY = "how wide must a cycle track be?"
NPPF_2023, NPPF_2024 = "rev_NPPF_2023_09", "rev_NPPF_2024_12"


def search(session: Session, **arguments: object) -> Answer:
    return session.call("search_policy", **{"query": QUERY, **arguments})


def test_an_answer_has_the_keys_of_the_contract_and_two_more(library: Session) -> None:
    answer = search(library, effective_date="2024-03-15", n_results=5)
    assert set(answer) == SEARCH_KEYS | SEARCH_ADDITIONS
    assert answer["status"] == "success"
    assert answer["query"] == QUERY
    assert answer["effective_date"] == "2024-03-15"
    assert answer["results_count"] == len(answer["results"]) == 5
    assert (answer["truncated"], answer["more"]) == (False, None)


def test_without_a_date_the_effective_date_is_null(library: Session) -> None:
    assert search(library)["effective_date"] is None
    assert search(library, effective_date=None)["effective_date"] is None


def test_a_result_has_the_fields_of_the_contract(library: Session) -> None:
    results = find(library, QUERY, n_results=50)
    assert len(results) == 50
    for result in results:
        assert result.pop("evidence")["page"] == result["page_number"]
        assert {name: type(value) for name, value in result.items()} == RESULT_FIELDS


def test_a_result_says_where_its_text_stands(library: Session) -> None:
    [result] = find(library, policies.framework_paragraph(102, "December 2024"), n_results=1)
    assert result["text"] == policies.framework_paragraph(102, "December 2024")
    assert result["relevance_score"] == pytest.approx(1, abs=5e-3)
    assert result["source"] == "NPPF"
    assert result["revision_id"] == NPPF_2024
    assert result["version_label"] == "December 2024"
    assert result["section_ref"] == "Para 102"
    assert result["page_number"] == policies.framework_page(102)


def test_a_chunk_id_is_made_of_source_revision_section_and_index(library: Session) -> None:
    [table] = find(library, policies.TABLE, sources=["LTN_1_20"], n_results=1)
    assert re.fullmatch(r"LTN_1_20__rev_LTN_1_20_2020_07__Table_5_2__\d{3}", table["chunk_id"])
    chunks = chunks_of(library, "NPPF", NPPF_2024)
    indices = [int(chunk["chunk_id"].rsplit("__", 1)[1]) for chunk in chunks]
    assert indices == list(range(len(chunks)))
    for chunk in chunks:
        section = re.sub(r"\W", "_", chunk["section_ref"])
        assert chunk["chunk_id"].startswith(f"NPPF__{NPPF_2024}__{section}__")
        assert len(chunk["chunk_id"].rsplit("__", 1)[1]) == 3


def test_a_heading_is_found_with_the_text_below_it_and_read_without(library: Session) -> None:
    chapter = read(library, "NPPF", f"Chapter {policies.PRINTED_CHAPTERS[0]}")
    heading, _, below = chapter["text"].partition("\n\n")
    first = below.split("\n\n")[0]
    [found] = find(library, f"{heading}\n{first}", sources=["NPPF"], n_results=1)
    assert found["text"] == f"{heading}\n{first}"
    assert chapter["text"].count(first) == 1


@pytest.mark.parametrize(
    ("query", "source", "section"),
    [
        ("how many homes must be affordable?", "CHERWELL_LOCAL_PLAN", "Policy H1"),
        ("trains", "CHERWELL_LOCAL_PLAN", "Para 6.1"),
        ("dimensions of lanes for bicycles by traffic", "LTN_1_20", "Table 5-2"),
        ("slopes and hills", "LTN_1_20", "Para 5.2"),
    ],
)
def test_meaning_is_found_in_other_words(
    library: Session, query: str, source: str, section: str
) -> None:
    found = find(library, query, sources=[source], n_results=3)
    assert section in [result["section_ref"] for result in found]


def test_results_come_best_first(library: Session) -> None:
    scores = [result["relevance_score"] for result in find(library, QUERY, n_results=50)]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) > 10
    assert all(0 <= score <= 1 for score in scores)


def test_one_source_limits_the_results(library: Session) -> None:
    results = find(library, QUERY, sources=["LTN_1_20"], n_results=100)
    assert {result["source"] for result in results} == {"LTN_1_20"}
    assert len(results) == list_revisions(library, "LTN_1_20")[0]["chunk_count"]


def test_several_sources_are_alternatives(library: Session) -> None:
    sources = ["LTN_1_20", "CHERWELL_LOCAL_PLAN"]
    results = find(library, QUERY, sources=sources, n_results=100)
    assert {result["source"] for result in results} == set(sources)
    apart = [find(library, QUERY, sources=[source], n_results=100) for source in sources]
    assert len(results) == sum(map(len, apart))


def test_a_source_named_twice_is_as_good_as_once(library: Session) -> None:
    twice = find(library, QUERY, sources=["LTN_1_20", "LTN_1_20"])
    assert twice == find(library, QUERY, sources=["LTN_1_20"])


@pytest.mark.parametrize("sources", [None, []])
def test_no_sources_are_all_sources(library: Session, sources: object) -> None:
    found = find(library, "cycle", sources=sources, n_results=300)
    assert {r["source"] for r in found} >= {"NPPF", "LTN_1_20", "CHERWELL_LOCAL_PLAN"}


@pytest.mark.parametrize("source", ["NOT_THERE", "nppf", "", "NPPF ", "LTN 1/20"])
def test_an_unknown_source_filters_and_a_warning_names_it(library: Session, source: str) -> None:
    alone = search(library, sources=[source])
    assert (alone["status"], alone["results"]) == ("success", [])
    assert repr(source) in alone["warning"]
    beside = search(library, sources=["LTN_1_20", source], effective_date="2024-03-15")
    known = search(library, sources=["LTN_1_20"], effective_date="2024-03-15")
    assert beside["results"] == known["results"] != []
    assert beside["warning"] == alone["warning"]
    assert "LTN_1_20" not in beside["warning"]
    assert "warning" not in known


def test_a_source_without_a_text_on_the_day_is_named_with_the_reason(library: Session) -> None:
    answer = search(library, sources=["LTN_1_20"], effective_date="1900-01-01")
    assert (answer["status"], answer["results"]) == ("success", [])
    assert answer["warning"] == (
        "No text of LTN_1_20 was in force on 1900-01-01 (date_before_first_revision)."
    )
    assert "warning" not in search(library, effective_date="1900-01-01")


def test_scores_do_not_depend_on_filters(library: Session) -> None:
    everywhere = {r["chunk_id"]: r["relevance_score"] for r in find(library, QUERY, n_results=300)}
    narrow = find(library, QUERY, sources=["LTN_1_20"], effective_date="2024-03-15")
    for result in narrow:
        assert result["relevance_score"] == pytest.approx(everywhere[result["chunk_id"]], abs=1e-6)


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_n_results_keeps_the_best(library: Session, limit: int) -> None:
    best = find(library, QUERY, sources=["LTN_1_20"], n_results=limit)
    assert best == find(library, QUERY, sources=["LTN_1_20"], n_results=100)[:limit]
    assert len(best) == limit


def test_ten_results_are_the_default(library: Session) -> None:
    assert len(find(library, QUERY)) == 10


def test_a_thousand_results_may_be_asked_for(library: Session) -> None:
    found = find(library, QUERY, sources=["NPPF"], n_results=1000)
    assert len(found) == 2 * policies.FRAMEWORK_CHUNKS


def test_more_than_the_maximum_is_answered_with_the_maximum_and_said(
    library: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = find(library, QUERY, n_results=3)
    monkeypatch.setattr(tools, "MAX_RESULTS", 2)
    answer = search(library, n_results=10**9)
    assert (answer["results"], answer["truncated"]) == (best[:2], True)
    answer = search(library, n_results=2)
    assert (answer["results"], answer["truncated"]) == (best[:2], False)


@pytest.mark.parametrize("query", ["", " ", "\n\t"])
def test_a_blank_query_is_refused(session: Session, query: str) -> None:
    assert "query" in refusal(search(session, query=query), "invalid_input").lower()


@pytest.mark.parametrize("query", ["", " "])
def test_a_blank_query_is_refused_also_where_nothing_is_in_force(
    library: Session, query: str
) -> None:
    refusal(search(library, query=query, effective_date="1900-01-01"), "invalid_input")


def test_a_query_comes_back_as_it_was_sent(session: Session) -> None:
    query = '  café “naïve” Ωμέγα 図面 🚲 \\ " / \n tab\t.'
    assert search(session, query=query)["query"] == query


def test_without_a_date_all_revisions_are_searched_superseded_ones_too(library: Session) -> None:
    subject = policies.CHAPTERS["Sustainable transport"]
    found = find(library, subject, sources=["NPPF"], n_results=20)
    assert {result["revision_id"] for result in found} == {NPPF_2023, NPPF_2024}
    statuses = {r["revision_id"]: r["status"] for r in list_revisions(library, "NPPF")}
    assert statuses == {NPPF_2023: "superseded", NPPF_2024: "active"}


def test_more_queries_are_answered_in_one_call(library: Session) -> None:
    more = ["affordable homes", "trains", "affordable homes"]
    options = {"sources": ["CHERWELL_LOCAL_PLAN"], "effective_date": "2024-03-15", "n_results": 3}
    answer = search(library, more_queries=more, **options)
    assert answer["query"] == QUERY
    assert answer["results"] == find(library, QUERY, **options)
    assert [part["query"] for part in answer["more"]] == more
    for part in answer["more"]:
        assert set(part) == {"query", "results_count", "results"}
        assert part["results_count"] == len(part["results"]) == 3
        assert part["results"] == find(library, part["query"], **options)


def test_no_more_queries_have_no_more_answers(library: Session) -> None:
    assert search(library, more_queries=None)["more"] is None
    assert search(library, more_queries=[])["more"] == []


def test_a_blank_one_among_more_queries_is_refused(library: Session) -> None:
    refusal(search(library, more_queries=["trains", " "]), "invalid_input")


def test_more_than_twenty_more_queries_are_refused(library: Session) -> None:
    assert len(search(library, more_queries=["trains"] * 20, n_results=1)["more"]) == 20
    refused = search(library, more_queries=["trains"] * 21)
    assert "more_queries" in refusal(refused, "invalid_input")


def test_a_new_label_is_cited_from_then_on(
    session: Session, registry: PolicyRegistry, source: str, tmp_path: Path
) -> None:
    revision_id = revise(registry, source, "Draft", date(2020, 1, 1))
    ingest_well(session, source, revision_id, policies.leaflet(tmp_path / "a.pdf", "A"))
    registry.edit_revision(source, revision_id, RevisionEdit(version_label="Adopted"))
    for options in ({"effective_date": "2024-03-15"}, {}):
        found = find(session, "hedges", sources=[source], **options)
        assert {result["version_label"] for result in found} == {"Adopted"}
