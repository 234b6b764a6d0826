"""`search_application_docs`: what is found, in which order, under which filters."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from quinion.servers.document_store import tools
from tests.contract.conftest import NewHome
from tests.contract.document_store.asking import (
    ADDED_FIELDS,
    CHUNK_FIELDS,
    DOCUMENT_TYPES,
    RESULT_KEYS,
    find,
    ingest,
    ingest_well,
    refusal,
)
from tests.contract.local import LocalServer, Serve
from tests.contract.session import Answer, Session
from tests.documents import text_pdf

FIRST = "25/01178/REM"
SECOND = "24/00500/FUL"
THIRD = "23/00001/OUT"
# Application, file name (which tells the type), text.
DOCUMENTS = [
    (FIRST, "Transport Assessment.pdf", "Two hundred covered cycle parking spaces are provided."),
    (FIRST, "Flood Risk Assessment.pdf", "Surface water drains into an attenuation tank."),
    (FIRST, "Bat Survey.pdf", "Pipistrelles were seen to leave the old barn at dusk."),
    (SECOND, "Transport Assessment B.pdf", "Buses stop at the gate every ten minutes."),
    (SECOND, "Bat Survey B.pdf", "No roosts of bats were found in the chapel's roof."),
    (THIRD, "Letter.pdf", "Neighbours object to the loss of evening sunlight."),
]


@pytest.fixture(scope="module")
def server(new_home: NewHome, serve: Serve) -> Iterator[LocalServer]:
    """A server that has nothing but the documents above."""
    with serve(new_home()) as server:
        yield server


@pytest.fixture(scope="module")
def session(server: LocalServer, files: Path) -> Iterator[Session]:
    with server.session() as session:
        assert find(session, "anything") == []
        for ref, name, text in DOCUMENTS:
            ingest_well(session, text_pdf(files / name, text), ref)
        yield session


def sources(results: list[Answer]) -> list[str]:
    return [result["metadata"]["source_file"] for result in results]


def test_an_answer_has_the_keys_of_the_contract_and_one_more(session: Session) -> None:
    answer = session.call("search_application_docs", query="cycle parking provision")
    assert set(answer) == {"status", "query", "results_count", "results", "truncated"}
    assert answer["status"] == "success"
    assert answer["query"] == "cycle parking provision"
    assert answer["results_count"] == len(answer["results"]) == len(DOCUMENTS)
    assert answer["truncated"] is False


def test_a_result_has_the_keys_of_the_contract(session: Session) -> None:
    for result in find(session, "cycle parking provision"):
        assert set(result) - {"evidence"} == RESULT_KEYS
        assert type(result["relevance_score"]) is float
        metadata = result["metadata"]
        types = {name: type(value) for name, value in metadata.items()}
        assert types == {**CHUNK_FIELDS, **dict.fromkeys(ADDED_FIELDS, str)}


@pytest.mark.parametrize(
    ("query", "source"),
    [
        ("where can bicycles be left?", "Transport Assessment.pdf"),
        ("rain and sewers", "Flood Risk Assessment.pdf"),
        ("animals that fly out of a farm building", "Bat Survey.pdf"),
        ("how often does public transport run?", "Transport Assessment B.pdf"),
        ("residents complain about shade", "Letter.pdf"),
    ],
)
def test_meaning_is_found_in_other_words(session: Session, query: str, source: str) -> None:
    assert sources(find(session, query))[0] == source


def test_results_come_best_first(session: Session) -> None:
    scores = [result["relevance_score"] for result in find(session, "bats in the barn")]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) > 1
    assert all(0 <= score <= 1 for score in scores)


def test_the_query_is_embedded_with_the_model_of_the_documents(session: Session) -> None:
    for _, name, text in DOCUMENTS:
        best = find(session, text, max_results=1)[0]
        assert best["metadata"]["source_file"] == name
        assert best["relevance_score"] == pytest.approx(1, abs=5e-3)


def test_an_application_limits_the_results(session: Session) -> None:
    results = find(session, "bats", application_ref=SECOND)
    assert set(sources(results)) == {"Transport Assessment B.pdf", "Bat Survey B.pdf"}
    assert {result["metadata"]["application_ref"] for result in results} == {SECOND}


def test_an_unknown_application_has_no_results(session: Session) -> None:
    assert find(session, "bats", application_ref="99/99999/XXX") == []


def test_a_type_limits_the_results(session: Session) -> None:
    results = find(session, "the roof", document_types=["ecology_report"])
    assert set(sources(results)) == {"Bat Survey.pdf", "Bat Survey B.pdf"}


def test_several_types_are_alternatives(session: Session) -> None:
    results = find(session, "the roof", document_types=["flood_risk_assessment", "other"])
    assert set(sources(results)) == {"Flood Risk Assessment.pdf", "Letter.pdf"}


def test_an_application_and_types_both_have_to_match(session: Session) -> None:
    types = ["transport_assessment", "flood_risk_assessment"]
    results = find(session, "the roof", application_ref=FIRST, document_types=types)
    assert set(sources(results)) == {"Transport Assessment.pdf", "Flood Risk Assessment.pdf"}
    assert find(session, "the roof", application_ref=THIRD, document_types=types) == []


def test_scores_do_not_depend_on_filters(session: Session) -> None:
    everywhere = {r["chunk_id"]: r["relevance_score"] for r in find(session, "bats")}
    for result in find(session, "bats", application_ref=FIRST, document_types=["ecology_report"]):
        assert result["relevance_score"] == pytest.approx(everywhere[result["chunk_id"]], abs=1e-6)


def test_null_filters_are_as_good_as_none(session: Session) -> None:
    assert find(session, "bats", application_ref=None, document_types=None) == find(session, "bats")


def test_an_empty_list_of_types_is_as_good_as_none(session: Session) -> None:
    assert find(session, "bats", document_types=[]) == find(session, "bats")


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_max_results_keeps_the_best(session: Session, limit: int) -> None:
    results = find(session, "bats", max_results=limit)
    assert results == find(session, "bats", max_results=100)[:limit]
    assert len(results) == limit


def test_ten_results_are_the_default(session: Session, files: Path) -> None:
    for number in range(6):
        text = f"Comment number {number} on the evening sunlight."
        ingest_well(session, text_pdf(files / f"Comment {number}.pdf", text), "COMMENTS")
    assert len(find(session, "sunlight")) == 10
    assert len(find(session, "sunlight", max_results=1000)) == len(DOCUMENTS) + 6


@pytest.mark.parametrize("query", ["", " ", "\n\t "])
def test_an_empty_query_is_refused(session: Session, query: str) -> None:
    answer = session.call("search_application_docs", query=query)
    assert "query" in refusal(answer, "invalid_input").lower()


def test_an_unknown_type_matches_nothing_and_a_warning_names_the_known_ones(
    session: Session,
) -> None:
    def search(*types: str) -> Answer:
        return session.call("search_application_docs", query="bats", document_types=list(types))

    answer = search("novel")
    assert (answer["status"], answer["results"]) == ("success", [])
    assert "'novel'" in answer["warning"]
    assert all(kind in answer["warning"] for kind in DOCUMENT_TYPES)
    beside = search("ecology_report", "novel")
    assert beside["results"] == search("ecology_report")["results"] != []
    assert "'novel'" in beside["warning"]
    assert "warning" not in search("ecology_report", "elevation")


def test_a_type_of_the_caller_is_found_by_it(session: Session, files: Path) -> None:
    own = "Letter, of a neighbour"
    text = "We object to the loss of the view from our kitchen."
    file = text_pdf(files / "Letter.pdf", text)
    assert ingest(session, file, "OWN", document_type=own)["status"] == "success"
    found = session.call("search_application_docs", query="view", document_types=[own])
    [result] = found["results"]
    assert result["metadata"]["document_type"] == own
    assert "warning" not in found


def test_more_than_the_maximum_is_answered_with_the_maximum_and_said(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = find(session, "bats", application_ref=FIRST, max_results=3)
    monkeypatch.setattr(tools, "MAX_RESULTS", 2)
    arguments = {"query": "bats", "application_ref": FIRST}
    answer = session.call("search_application_docs", **arguments, max_results=10**9)
    assert (answer["results"], answer["truncated"]) == (best[:2], True)
    answer = session.call("search_application_docs", **arguments, max_results=2)
    assert (answer["results"], answer["truncated"]) == (best[:2], False)


@pytest.mark.parametrize("blank", ["", " "])
def test_an_empty_type_is_refused(session: Session, blank: str) -> None:
    answer = session.call("search_application_docs", query="bats", document_types=[blank])
    assert "type is empty" in refusal(answer, "invalid_input")


def test_an_empty_application_is_refused(session: Session) -> None:
    answer = session.call("search_application_docs", query="bats", application_ref=" ")
    assert "application_ref" in refusal(answer, "invalid_input")


def test_a_long_query_is_truncated_with_a_warning(session: Session, server: LocalServer) -> None:
    before = len(server.log)
    kept = "Pipistrelles in the old barn. " * 40
    assert find(session, kept[:1024]) == find(session, kept[:1024] + "sunlight " * 99)
    lines = [line for line in server.log[before:].splitlines() if "runcated" in line]
    assert len(lines) == 1
    assert lines[0].startswith("WARNING ")
    assert "1024" in lines[0]


def test_a_query_of_1024_characters_is_not_truncated(session: Session, server: LocalServer) -> None:
    before = len(server.log)
    find(session, "x" * 1024)
    assert "runcated" not in server.log[before:]
