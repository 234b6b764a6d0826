"""Wrong arguments and unknown tools: the contract's envelope, and the argument named."""

import pytest

from tests.contract.policy_kb.asking import refusal
from tests.contract.session import Answer, Session

# What is asked here does not depend on where the registry is.
pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)


def test_an_unknown_tool(session: Session) -> None:
    message = refusal(session.call("delete_everything", really=True), "invalid_input")
    assert "delete_everything" in message
    assert all(tool in message for tool in session.tools)


@pytest.mark.parametrize(
    ("tool", "arguments", "word"),
    [
        ("search_policy", {}, "query"),
        ("search_policy", {"query": ["hedges"]}, "query"),
        ("search_policy", {"query": None}, "query"),
        ("search_policy", {"query": "hedges", "sources": "NPPF"}, "sources"),
        ("search_policy", {"query": "hedges", "sources": [1]}, "sources"),
        ("search_policy", {"query": "hedges", "more_queries": "bats"}, "more_queries"),
        ("search_policy", {"query": "hedges", "max_results": 3}, "max_results"),
        ("get_policy_section", {"source": "NPPF"}, "section_ref"),
        ("get_policy_section", {"section_ref": "Para 1"}, "source"),
        ("get_policy_section", {"source": "NPPF", "section_ref": 116}, "section_ref"),
        ("get_policy_section", {"source": "X", "section_ref": "1", "page": 1}, "page"),
        ("list_policy_documents", {"category": "local_plan"}, "category"),
        ("list_policy_revisions", {}, "source"),
        ("list_policy_revisions", {"source": None}, "source"),
        ("ingest_policy_revision", {"source": "X", "revision_id": "y"}, "file_path"),
        ("ingest_policy_revision", {"source": "X", "file_path": "/a.pdf"}, "revision_id"),
        (
            "ingest_policy_revision",
            {"source": "X", "revision_id": "y", "file_path": "/a.pdf", "reindex": "maybe"},
            "reindex",
        ),
        ("remove_policy_revision", {"source": "X"}, "revision_id"),
        ("remove_policy_revision", {"source": "X", "revision_id": "y", "force": True}, "force"),
    ],
)
def test_wrong_arguments_are_named(
    session: Session, tool: str, arguments: Answer, word: str
) -> None:
    message = refusal(session.call(tool, **arguments), "invalid_input")
    assert word in message
    assert tool in message
