"""What the tests of this contract ask over and over, and the shapes that it prescribes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp.types import ElicitResult

from tests.contract.session import Answer, Session

DONE_KEYS = {"success", "data", "error"}
FAILED_KEYS = {"success", "data", "error", "error_code", "details"}

FILE_KEYS = {"doc_hash", "chunks_created", "chunk_ids", "total_tokens", "file_format"}
FILE_ADDITIONS = {"duplicate_of", "chunk_ids_omitted"}
DIRECTORY_KEYS = {"new_documents", "duplicates_skipped", "errors", "total_chunks", "chunk_ids"}
DIRECTORY_ADDITIONS = {
    "updated_documents",
    "moved_documents",
    "errors_omitted",
    "chunk_ids_omitted",
}
ERROR_KEYS = {"file_path", "error"}
ERROR_ADDITIONS = {"error_code", "reason"}
SEARCH_KEYS = {"results", "total_tokens", "query_embedding_time", "search_time"}
SEARCH_ADDITIONS = {"results_omitted"}
RESULT_KEYS = {"chunk_id", "content", "score", "metadata", "token_count"}
BUDGET_KEYS = {"results", "total_tokens", "budget_utilized", "truncated", "truncated_count"}
BUDGET_ADDITIONS = {"query_embedding_time", "search_time", "results_omitted"}
CHUNKS_KEYS = {"deleted_count", "deleted_ids"}
DELETED_FILE_KEYS = {"deleted_count", "source_file"}
CLEARED_KEYS = {"deleted_count"}
STATS_KEYS = {"total_chunks", "unique_files", "source_files"}
STATS_ADDITIONS = {"vanished_files", "next_file"}

MOST_RESULTS = 50


def done(answer: Answer) -> Answer:
    """The data of an answer that is no failure, in the contract's envelope and no other."""
    assert answer["success"] is True, answer
    assert set(answer) == DONE_KEYS
    assert answer["error"] is None
    data: Answer = answer["data"]
    return data


def failed(answer: Answer, code: str) -> str:
    """The message of a failure of this code, in the contract's envelope and no other."""
    assert answer["success"] is False, answer
    assert set(answer) == FAILED_KEYS
    assert answer["data"] is None
    assert answer["error_code"] == code, answer
    message: str = answer["error"]
    assert message.strip()
    return message


def index(session: Session, file: Path | str) -> Answer:
    """What `index_file` says of a file that is indexed."""
    data = done(session.call("index_file", file_path=str(file)))
    assert set(data) == FILE_KEYS | FILE_ADDITIONS
    return data


def index_all(session: Session, folder: Path | str, **options: Any) -> Answer:
    """What `index_directory` says of a folder."""
    data = done(session.call("index_directory", dir_path=str(folder), **options))
    assert set(data) - {"skipped_files"} == DIRECTORY_KEYS | DIRECTORY_ADDITIONS
    for error in data["errors"]:
        assert set(error) == ERROR_KEYS | ERROR_ADDITIONS
    return data


def counts(data: Answer) -> tuple[int, int, int]:
    """How many files were indexed, passed over, and not to be read."""
    return data["new_documents"], data["duplicates_skipped"], len(data["errors"])


def find(session: Session, query: str, **options: Any) -> list[Answer]:
    """The results of `search`, or with `filters` of `search_with_filters`."""
    tool = "search_with_filters" if "filters" in options else "search"
    data = done(session.call(tool, query=query, **options))
    assert set(data) == SEARCH_KEYS | SEARCH_ADDITIONS
    results: list[Answer] = data["results"]
    assert data["total_tokens"] == sum(result["token_count"] for result in results)
    for result in results:
        assert set(result) - {"match", "merged", "evidence"} == RESULT_KEYS
        assert 0.0 <= result["score"] <= 1.0
    return results


def files_found(session: Session, query: str, **options: Any) -> list[str]:
    """The names of the files that a search finds, best first."""
    return [Path(r["metadata"]["source_file"]).name for r in find(session, query, **options)]


def chunks_of(session: Session, file: Path) -> list[Answer]:
    """All chunks of a file, in its order; it may not have more than a search returns."""
    found = find(session, "anything", filters={"source_file": str(file)}, n_results=MOST_RESULTS)
    return sorted(found, key=lambda chunk: chunk["metadata"]["chunk_index"])


def stats(session: Session) -> Answer:
    """What `get_index_stats` says of an index whose list of files fits into one answer."""
    data = done(session.call("get_index_stats"))
    assert set(data) == STATS_KEYS | STATS_ADDITIONS
    assert data["next_file"] is None
    assert data["unique_files"] == len(data["source_files"])
    return data


def indexed(session: Session) -> list[str]:
    """The names of the indexed files."""
    return sorted(Path(file).name for file in stats(session)["source_files"])


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files into a folder, which is made where it is not there."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


class User:
    """A person at a client, who says the same to each question, and remembers the questions."""

    def __init__(self, says: ElicitResult) -> None:
        self.says = says
        self.questions: list[str] = []

    def __call__(self, question: str) -> ElicitResult:
        self.questions.append(question)
        return self.says
