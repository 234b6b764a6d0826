"""`search`, `search_with_filters` and `search_with_budget` over a small library of all formats."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from quinion.servers.docvec import search
from quinion.servers.docvec.filters import FIELDS, NUMBER_FIELDS, TEXT_FIELDS
from tests.contract.conftest import NewHome
from tests.contract.docvec.asking import (
    BUDGET_ADDITIONS,
    BUDGET_KEYS,
    done,
    failed,
    files_found,
    find,
    index_all,
    write,
)
from tests.contract.docvec.documents import CODE, MARKDOWN, PAGES, TEXT
from tests.contract.local import LocalServer, Serve
from tests.contract.session import Answer, Session
from tests.documents import PROSE, text_pdf

ALL = 50
LONG_MODULE = "\n\n\n".join(
    f"class Station{n}:\n    def announce_train_{n}(self, platform):\n"
    + "".join(f"        print('calling at stop {n}{stop}', platform)\n" for stop in range(12))
    for n in range(3)
)

OFFICE_FIELDS = {"slide", "sheet", "start_row", "end_row", "message"}
"""Fields of office files; `test_office_files` filters by them."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each format with several chunks, so that each field has several values."""
    folder = tmp_path_factory.mktemp("library")
    write(folder, {"config/handbook.md": MARKDOWN, "config/client.py": CODE, "minutes.txt": TEXT})
    write(folder, {"stations.py": LONG_MODULE})
    long_page = "\n".join(f"Line {n} of a long page. {PROSE[:60]}" for n in range(60))
    text_pdf(folder / "animals.pdf", *PAGES, long_page)
    return folder


@pytest.fixture(scope="module")
def session(server: LocalServer, library: Path) -> Iterator[Session]:
    with server.session() as session:
        index_all(session, library)
        yield session


@pytest.fixture(scope="module")
def chunks(session: Session) -> list[Answer]:
    """All that is indexed."""
    found = find(session, "anything", n_results=ALL)
    assert 15 < len(found) < ALL
    return found


@pytest.fixture
def fresh_session(new_home: NewHome, serve: Serve) -> Iterator[Session]:
    """A server that has nothing indexed."""
    with serve(new_home()) as server, server.session() as session:
        yield session


def ids(results: list[Answer]) -> set[str]:
    return {result["chunk_id"] for result in results}


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("How do I configure authentication?", "handbook.md"),
        ("retry when the server does not respond", "client.py"),
        ("how much money is left?", "minutes.txt"),
        ("which bird migrates furthest?", "animals.pdf"),
        ("tell passengers which platform the train leaves from", "stations.py"),
    ],
)
def test_what_is_meant_is_found(session: Session, query: str, name: str) -> None:
    assert files_found(session, query)[0] == name


def test_results_are_the_best_first_and_five_if_nothing_is_said(session: Session) -> None:
    results = find(session, "which fish returns to its river?")
    scores = [result["score"] for result in results]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)
    assert 0.3 < scores[0] <= 1.0


def test_the_score_of_a_text_for_itself_is_one(session: Session) -> None:
    assert find(session, PAGES[1], n_results=1)[0]["score"] == pytest.approx(1.0, abs=5e-3)


@pytest.mark.parametrize("count", [1, 2, 50])
def test_no_more_results_than_asked_for(session: Session, chunks: list[Answer], count: int) -> None:
    results = find(session, "train", n_results=count)
    assert len(results) == min(count, len(chunks))
    assert results == find(session, "train", n_results=50)[:count]


def test_more_than_the_maximum_is_answered_with_the_maximum_and_said(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = find(session, "train", n_results=3)
    monkeypatch.setattr(search, "MAX_RESULTS", 2)
    for tool in ("search", "search_with_filters"):
        data = done(session.call(tool, query="train", n_results=1_000))
        assert (data["results"], data["truncated"]) == (best[:2], True)
        assert data["results_omitted"] == 0
        data = done(session.call(tool, query="train", n_results=2))
        assert data["results"] == best[:2]
        assert "truncated" not in data


def test_the_times_are_measured(session: Session) -> None:
    data = done(session.call("search", query="apple trees"))
    assert 0 < data["query_embedding_time"] < 10
    assert 0 < data["search_time"] < 10


def test_an_index_with_nothing_in_it_finds_nothing(fresh_session: Session) -> None:
    assert find(fresh_session, "anything") == []
    assert find(fresh_session, "anything", filters={"page_number": 1}) == []
    data = done(fresh_session.call("search_with_budget", query="anything", max_tokens=1))
    assert (data["results"], data["truncated"], data["budget_utilized"]) == ([], False, 0.0)


@pytest.mark.parametrize("field", sorted(FIELDS - OFFICE_FIELDS))
def test_every_field_can_be_filtered_by(session: Session, chunks: list[Answer], field: str) -> None:
    values = {c["metadata"][field] for c in chunks if field in c["metadata"]}
    assert len(values) > 1
    for value in values:
        wanted = ids([c for c in chunks if c["metadata"].get(field) == value])
        for filters in ({field: value}, {field: {"$eq": value}}, {field: {"$in": [value]}}):
            assert ids(find(session, "x", filters=filters, n_results=ALL)) == wanted


Check = Callable[[Answer], bool]


@pytest.mark.parametrize(
    ("filters", "check"),
    [
        # The contract's examples.
        ({"file_format": "markdown", "header_level": 2}, lambda m: m.get("header_level") == 2),
        (
            {"page_number": {"$gte": 2, "$lte": 3}},
            lambda m: m.get("page_number") in (2, 3),
        ),
        ({"source_file": {"$contains": "config"}}, lambda m: "config" in m["source_file"]),
        # The other operators.
        ({"page_number": {"$gt": 2}}, lambda m: m.get("page_number", 0) > 2),
        ({"page_number": {"$lt": 2}}, lambda m: m.get("page_number", 9) < 2),
        ({"page_number": {"$lt": 2.0}}, lambda m: m.get("page_number", 9) < 2),
        ({"file_format": {"$ne": "code"}}, lambda m: m["file_format"] != "code"),
        (
            {"file_format": {"$in": ["text", "markdown"]}},
            lambda m: m["file_format"] in {"text", "markdown"},
        ),
        (
            {"file_format": {"$nin": ["text", "markdown"]}},
            lambda m: m["file_format"] not in {"text", "markdown"},
        ),
        (
            {"function_name": {"$contains": "train_1"}},
            lambda m: "train_1" in m.get("function_name", ""),
        ),
        ({"header_path": {"$contains": " > "}}, lambda m: " > " in m.get("header_path", "")),
        (
            {"source_file": {"$not_contains": "config"}},
            lambda m: "config" not in m["source_file"],
        ),
        # What does not have a field is not equal to anything.
        ({"page_number": {"$ne": 1}}, lambda m: m.get("page_number") != 1),
        ({"class_name": {"$not_contains": "a"}}, lambda m: "a" not in m.get("class_name", "")),
        # Together.
        (
            {"start_line": {"$gte": 5, "$ne": 8}, "file_format": {"$ne": "markdown"}},
            lambda m: (
                m.get("start_line", 0) >= 5
                and m.get("start_line") != 8
                and m["file_format"] != "markdown"
            ),
        ),
        (
            {"$or": [{"page_position": "end"}, {"function_name": "close"}]},
            lambda m: m.get("page_position") == "end" or m.get("function_name") == "close",
        ),
        (
            {
                "$and": [
                    {"chunk_index": {"$lte": 1}},
                    {"$or": [{"page_number": 2}, {"file_format": "text"}]},
                ]
            },
            lambda m: (
                m["chunk_index"] <= 1 and (m.get("page_number") == 2 or m["file_format"] == "text")
            ),
        ),
    ],
    ids=lambda given: "" if callable(given) else json.dumps(given),
)
def test_a_filter_lets_through_exactly_what_meets_it(
    session: Session, chunks: list[Answer], filters: Answer, check: Check
) -> None:
    wanted = [c for c in chunks if check(c["metadata"])]
    assert 0 < len(wanted) < len(chunks)
    found = find(session, "x", filters=filters, n_results=ALL)
    assert ids(found) == ids(wanted)
    # And the best of them first, however few are asked for.
    assert find(session, "x", filters=filters, n_results=1) == found[:1]


@pytest.mark.parametrize("filters", [None, {}])
def test_without_filters_it_is_a_search(session: Session, filters: Answer | None) -> None:
    assert find(session, "fish", filters=filters) == find(session, "fish")


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ({"page": 1}, ["'page'", "page_number"]),
        ({"page_number": {"$near": 1}}, ["$near", "$gte"]),
        ({"source_file": {"contains": "a"}}, ["'contains'", "$contains"]),
        ({"page_number": "two"}, ["page_number", "whole number"]),
        ({"page_number": True}, ["page_number", "whole number"]),
        ({"page_number": 1.5}, ["page_number", "whole number"]),
        ({"page_number": None}, ["page_number", "whole number"]),
        ({"source_file": 1}, ["source_file", "text"]),
        ({"source_file": {"$gt": "a"}}, ["$gt", "source_file"]),
        ({"page_number": {"$contains": "1"}}, ["$contains", "page_number"]),
        ({"page_number": {"$in": 1}}, ["$in", "list"]),
        ({"page_number": {}}, ["page_number", "operator"]),
        ({"$or": {"page_number": 1}}, ["$or", "list"]),
        ({"$not": [{"page_number": 1}]}, ["$not"]),
        ("file_format = code", ["filters"]),
        ([{"file_format": "code"}], ["filters"]),
    ],
    ids=json.dumps,
)
def test_a_filter_that_cannot_mean_anything_is_refused(
    session: Session, filters: Any, words: list[str]
) -> None:
    answer = session.call("search_with_filters", query="x", filters=filters)
    message = failed(answer, "INVALID_INPUT")
    assert all(word in message for word in words), message


@pytest.mark.parametrize("tool", ["search", "search_with_filters"])
@pytest.mark.parametrize("count", [0, -1, "many", 1.5, None, []])
def test_another_number_of_results_is_refused(session: Session, tool: str, count: Any) -> None:
    answer = session.call(tool, query="x", n_results=count)
    assert "n_results" in failed(answer, "INVALID_INPUT")


@pytest.mark.parametrize("tool", ["search", "search_with_filters", "search_with_budget"])
@pytest.mark.parametrize("query", ["", " \n\t"])
def test_an_empty_query_is_refused(session: Session, tool: str, query: str) -> None:
    assert "query" in failed(session.call(tool, query=query), "INVALID_INPUT")


def within(session: Session, budget: int) -> Answer:
    data = done(session.call("search_with_budget", query="train", max_tokens=budget))
    assert set(data) == BUDGET_KEYS | BUDGET_ADDITIONS
    assert data["total_tokens"] == sum(result["token_count"] for result in data["results"])
    assert data["total_tokens"] <= budget
    assert data["budget_utilized"] == round(data["total_tokens"] / budget, 2)
    assert data["truncated"] is (data["truncated_count"] > 0)
    return data


def test_the_budget_takes_the_best_that_fit_and_counts_the_rest(
    session: Session, chunks: list[Answer]
) -> None:
    ranked = find(session, "train", n_results=ALL)
    sizes = [result["token_count"] for result in ranked]
    for budget in (sizes[0], sum(sizes[:3]), sum(sizes[:3]) - 1, sum(sizes) // 2):
        data = within(session, budget)
        left, expected = budget, []
        for result in ranked:
            if result["token_count"] <= left:
                expected.append(result)
                left -= result["token_count"]
        assert data["results"] == expected
        assert data["truncated_count"] == len(ranked) - len(expected)


def test_one_that_does_not_fit_is_passed_over_for_smaller_ones(session: Session) -> None:
    ranked = find(session, "train", n_results=ALL)
    sizes = [result["token_count"] for result in ranked]
    [second] = [n for n in range(1, len(sizes)) if sizes[n] > min(sizes[n + 1 :], default=999)][:1]
    smaller = next(n for n in range(second + 1, len(sizes)) if sizes[n] < sizes[second])
    data = within(session, sum(sizes[:second]) + sizes[smaller])
    found = ids(data["results"])
    assert ranked[second]["chunk_id"] not in found
    assert ranked[smaller]["chunk_id"] in found


def test_a_budget_for_everything_is_not_truncated(session: Session, chunks: list[Answer]) -> None:
    total = sum(chunk["token_count"] for chunk in chunks)
    exact = within(session, total)
    assert (exact["truncated"], exact["truncated_count"]) == (False, 0)
    assert (exact["total_tokens"], exact["budget_utilized"]) == (total, 1.0)
    assert len(exact["results"]) == len(chunks)
    one_less = within(session, total - 1)
    assert (one_less["truncated"], one_less["truncated_count"]) == (True, 1)


def test_the_budget_is_three_thousand_if_nothing_is_said(session: Session) -> None:
    data = done(session.call("search_with_budget", query="train"))
    assert data["budget_utilized"] == round(data["total_tokens"] / 3000, 2)


def test_a_budget_that_is_too_small_for_any_result(session: Session, chunks: list[Answer]) -> None:
    smallest = min(chunk["token_count"] for chunk in chunks)
    assert len(within(session, smallest)["results"]) == 1
    answer = session.call("search_with_budget", query="train", max_tokens=smallest - 1)
    message = failed(answer, "BUDGET_EXCEEDED")
    assert "Increase max_tokens" in message
    assert str(smallest) in message


@pytest.mark.parametrize("budget", [0, -1, "some", 2.5, None])
def test_a_budget_that_is_none_is_refused(session: Session, budget: Any) -> None:
    answer = session.call("search_with_budget", query="train", max_tokens=budget)
    assert "max_tokens" in failed(answer, "INVALID_INPUT")


def test_the_fields_are_those_of_the_contract_and_some_more() -> None:
    contract = {"source_file", "chunk_index", "file_format", "header_path", "header_level"}
    contract |= {"page_number", "page_position", "class_name", "function_name"}
    contract |= {"start_line", "end_line"}
    assert contract | {"doc_hash", "token_count"} | OFFICE_FIELDS == FIELDS
    assert not TEXT_FIELDS & NUMBER_FIELDS
