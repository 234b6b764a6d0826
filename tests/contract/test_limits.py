"""Queries that are too long are truncated with a warning, and counts that are too high are capped.

What an answer says of results that it leaves out stands with the tests of each server.
"""

from typing import Any

import pytest

from tests.contract.contracts import CONTRACTS
from tests.contract.session import Session

Sessions = dict[str, Session]
SEARCHES = [
    ("document-store", "search_application_docs"),
    ("policy-kb", "search_policy"),
    ("docvec", "search"),
    ("docvec", "search_with_filters"),
    ("docvec", "search_with_budget"),
    ("doclibrary", "search_documents"),
    ("doclibrary", "search_visual_elements"),
]
COUNTS = [
    ("document-store", "search_application_docs", "max_results"),
    ("policy-kb", "search_policy", "n_results"),
    ("docvec", "search", "n_results"),
    ("docvec", "search_with_filters", "n_results"),
    ("doclibrary", "search_documents", "limit"),
    ("doclibrary", "search_visual_elements", "limit"),
    ("doclibrary", "find_document", "limit"),
    ("doclibrary", "list_documents_paginated", "page_size"),
]


def is_error(answer: dict[str, Any]) -> bool:
    return bool(answer.get("error")) or answer.get("status") == "error"


def answer_of(session: Session, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] | None = session.start(tool, **arguments).reply().structured_content
    assert answer is not None
    return answer


def needs_query(session: Session, tool: str) -> bool:
    return "query" in session.tools[tool].input_schema["properties"]


@pytest.mark.parametrize(("name", "tool"), SEARCHES)
@pytest.mark.parametrize("length", [1_025, 20_001, 500_000])
def test_a_long_query_is_truncated_with_a_warning_in_the_log(
    sessions: Sessions, caplog: pytest.LogCaptureFixture, name: str, tool: str, length: int
) -> None:
    answer = answer_of(sessions[name], tool, {"query": "x" * length})
    assert not is_error(answer), answer
    warnings = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert any("Truncated to 1024 characters" in warning for warning in warnings)
    is_cut = any(f"query of {length} characters to 20000" in warning for warning in warnings)
    assert is_cut is (length > 20_000)
    if "query" in answer:
        assert answer["query"] == "x" * min(length, 20_000)


@pytest.mark.parametrize(("name", "tool", "count"), COUNTS)
@pytest.mark.parametrize("value", [1_001, 10**30])
def test_a_count_beyond_the_maximum_is_answered(
    sessions: Sessions, name: str, tool: str, count: str, value: int
) -> None:
    query = {"query": "x"} if needs_query(sessions[name], tool) else {}
    answer = answer_of(sessions[name], tool, {**query, count: value})
    assert not is_error(answer), answer


@pytest.mark.parametrize(("name", "tool", "count"), COUNTS)
@pytest.mark.parametrize("value", [0, -1, "many", 1.5, None])
def test_a_count_that_is_none_is_refused(
    sessions: Sessions, name: str, tool: str, count: str, value: object
) -> None:
    query = {"query": "x"} if needs_query(sessions[name], tool) else {}
    job = sessions[name].start(tool, **query, **{count: value})
    assert count in CONTRACTS[name].refusal(job.reply())
