"""Wrong arguments and unknown tools: the contract's envelope, and the argument named.

What is wrong with a file, a filter, a budget or ids stands with the tests of those.
"""

import pytest

from tests.contract.docvec.asking import failed
from tests.contract.session import Answer, Session


def test_an_unknown_tool(session: Session) -> None:
    message = failed(session.call("delete_everything", really=True), "INVALID_INPUT")
    assert "delete_everything" in message
    assert all(tool in message for tool in session.tools)


@pytest.mark.parametrize(
    ("tool", "arguments", "word"),
    [
        ("index_file", {}, "file_path"),
        ("index_file", {"file_path": 5}, "file_path"),
        ("index_file", {"file_path": None}, "file_path"),
        ("index_file", {"file_path": "x" * 5000}, "file_path"),
        ("index_file", {"file_path": "/a.md", "force": True}, "force"),
        ("index_directory", {}, "dir_path"),
        ("index_directory", {"dir_path": ["/a"]}, "dir_path"),
        ("index_directory", {"dir_path": "/a", "recursive": "sometimes"}, "recursive"),
        ("index_directory", {"dir_path": "/a", "pattern": "*.md"}, "pattern"),
        ("search", {}, "query"),
        ("search", {"query": 5}, "query"),
        ("search", {"query": "x" * 30_000}, "query"),
        ("search", {"query": "x", "filters": {}}, "filters"),
        ("search_with_filters", {"filters": {}}, "query"),
        ("search_with_budget", {}, "query"),
        ("search_with_budget", {"query": "x", "n_results": 5}, "n_results"),
        ("delete_chunks", {}, "ids"),
        ("delete_file", {}, "source_file"),
        ("delete_file", {"source_file": None}, "source_file"),
        ("clear_index", {"confirm": True, "consent": True}, "consent"),
        ("get_index_stats", {"from_file": "the first"}, "from_file"),
        ("get_index_stats", {"verbose": True}, "verbose"),
    ],
)
def test_wrong_arguments_are_named(
    session: Session, tool: str, arguments: Answer, word: str
) -> None:
    message = failed(session.call(tool, **arguments), "INVALID_INPUT")
    assert word in message
    assert tool in message
    assert len(message) < 2000
