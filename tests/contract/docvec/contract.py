"""The promises of DocVec."""

from pathlib import Path

from mcp.types import CallToolResult

from tests.contract.contracts import Contract
from tests.contract.docvec.asking import (
    BUDGET_ADDITIONS,
    BUDGET_KEYS,
    CHUNKS_KEYS,
    CLEARED_KEYS,
    DELETED_FILE_KEYS,
    DIRECTORY_ADDITIONS,
    DIRECTORY_KEYS,
    DONE_KEYS,
    ERROR_ADDITIONS,
    ERROR_KEYS,
    FAILED_KEYS,
    FILE_ADDITIONS,
    FILE_KEYS,
    RESULT_KEYS,
    SEARCH_ADDITIONS,
    SEARCH_KEYS,
    STATS_ADDITIONS,
    STATS_KEYS,
    chunks_of,
    counts,
    done,
    failed,
    find,
    index,
    index_all,
    stats,
    write,
)
from tests.contract.docvec.documents import CODE, MARKDOWN, TEXT
from tests.contract.process import Home
from tests.contract.session import Session, check_answer
from tests.contract.tools import NOTHING

READING = {"search", "search_with_filters", "search_with_budget", "get_index_stats"}
INDEXING = {"index_file", "index_directory"}
DELETING = {"delete_chunks", "delete_file", "clear_index"}
WARNED = {"warnings"}
"""An addition that is left out where nothing is hidden."""
CAPPED = {"truncated"}
"""An addition that is left out where no more was asked for than the maximum."""


def refuse(result: CallToolResult) -> str:
    """Return the message of an error about the input."""
    message = failed(check_answer(result), "INVALID_INPUT")
    assert len(message) < 2000
    return message


def converse(session: Session, home: Home, folder: Path) -> None:
    """Use all nine tools."""
    write(folder, {"handbook.md": MARKDOWN, "client.py": CODE, "minutes.txt": TEXT})
    assert index(session, folder / "handbook.md")["chunks_created"] == 4
    assert counts(index_all(session, folder)) == (2, 1, 0)
    [hit] = find(session, "How do I configure authentication?", n_results=1)
    assert hit["metadata"]["source_file"] == str(folder / "handbook.md")
    [hit] = find(session, "authentication", filters={"file_format": "text"}, n_results=1)
    assert hit["metadata"]["source_file"] == str(folder / "minutes.txt")
    budget = done(session.call("search_with_budget", query="apple trees", max_tokens=60))
    assert 0 < budget["total_tokens"] <= 60
    assert budget["truncated"] is True
    ids = [chunk["chunk_id"] for chunk in chunks_of(session, folder / "handbook.md")]
    assert done(session.call("delete_chunks", ids=ids[:1])) == {
        "deleted_count": 1,
        "deleted_ids": ids[:1],
    }
    code = str(folder / "client.py")
    assert done(session.call("delete_file", source_file=code))["source_file"] == code
    assert stats(session)["source_files"] == [
        str(folder / "handbook.md"),
        str(folder / "minutes.txt"),
    ]
    assert done(session.call("clear_index", confirm=True)) == {"deleted_count": 4}
    assert stats(session)["source_files"] == []
    path = str(folder / "README.md")
    answer = session.call("index_file", file_path=path)
    assert failed(answer, "FILE_NOT_FOUND") == f"File not found: {path}"
    text = 'café “naïve” Ωμέγα 図面 🚲 \\ " / tab\t.'
    file = write(folder, {"図面 🚲.txt": text}) / "図面 🚲.txt"
    index(session, file)
    [chunk] = chunks_of(session, file)
    assert chunk["content"] == text
    assert done(session.call("clear_index", confirm=True)) == {"deleted_count": 1}


CONTRACT = Contract(
    name="docvec",
    calls_itself="docvec-mcp",
    port=3004,
    reading=READING,
    writing=INDEXING,
    deleting=DELETING,
    of_commands={"verify"},
    parameters=[
        ("index_file", "file_path", {"string"}, True, NOTHING),
        ("index_directory", "dir_path", {"string"}, True, NOTHING),
        ("index_directory", "recursive", {"boolean"}, False, True),
        ("search", "query", {"string"}, True, NOTHING),
        ("search", "n_results", {"integer"}, False, 5),
        ("search_with_filters", "query", {"string"}, True, NOTHING),
        ("search_with_filters", "filters", {"object", "null"}, False, None),
        ("search_with_filters", "n_results", {"integer"}, False, 5),
        ("search_with_budget", "query", {"string"}, True, NOTHING),
        ("search_with_budget", "max_tokens", {"integer"}, False, 3000),
        ("delete_chunks", "ids", {"array"}, True, NOTHING),
        ("delete_file", "source_file", {"string"}, True, NOTHING),
        ("clear_index", "confirm", {"boolean"}, True, NOTHING),
        # An addition, which a client of the contract never sends.
        ("search", "mode", {"string", "null"}, False, None),
        ("search", "images", {"integer"}, False, 0),
        ("search", "merge", {"boolean"}, False, False),
        ("search_with_filters", "mode", {"string", "null"}, False, None),
        ("search_with_filters", "images", {"integer"}, False, 0),
        ("search_with_filters", "merge", {"boolean"}, False, False),
        ("search_with_budget", "mode", {"string", "null"}, False, None),
        ("search_with_budget", "images", {"integer"}, False, 0),
        ("search_with_budget", "merge", {"boolean"}, False, False),
        ("get_index_stats", "from_file", {"integer"}, False, 0),
    ],
    answers={tool: [DONE_KEYS, FAILED_KEYS] for tool in (*READING, *INDEXING, *DELETING)},
    parts=[
        ("index_file", "IndexedFile", FILE_KEYS | FILE_ADDITIONS | WARNED),
        (
            "index_directory",
            "IndexedDirectory",
            DIRECTORY_KEYS | DIRECTORY_ADDITIONS | WARNED | {"skipped_files"},
        ),
        ("index_directory", "SkippedFile", {"file_path", "reason"}),
        ("index_directory", "FileError", ERROR_KEYS | ERROR_ADDITIONS),
        ("search", "Found", SEARCH_KEYS | SEARCH_ADDITIONS | CAPPED),
        ("search", "Result", {*RESULT_KEYS, "match", "merged", "evidence"}),
        ("search_with_filters", "Found", SEARCH_KEYS | SEARCH_ADDITIONS | CAPPED),
        ("search_with_budget", "FoundWithinBudget", BUDGET_KEYS | BUDGET_ADDITIONS),
        ("delete_chunks", "DeletedChunks", CHUNKS_KEYS),
        ("delete_file", "DeletedFile", DELETED_FILE_KEYS),
        ("clear_index", "Cleared", CLEARED_KEYS),
        ("get_index_stats", "Stats", STATS_KEYS | STATS_ADDITIONS),
    ],
    refusal=refuse,
    wrong_arguments=[
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
    bad_settings=[
        ("DOCVEC_PORT", "99999"),
        ("DOCVEC_CHUNK_SIZE", "0"),
        ("DOCVEC_CHUNK_SIZE", "large"),
        ("DOCVEC_COLLECTION", "two words"),
        ("DOCVEC_COLLECTION", "x" * 300),
        ("DOCVEC_BACKEND", "torch"),
        ("DOCVEC_HOST", "localhost:11434"),
        ("DOCVEC_TIMEOUT", "0"),
        ("DOCVEC_DB_PATH", "/dev/null/index"),
    ],
    converse=converse,
)
