"""The core of the contract over stdio and over each transport of HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.conftest import NewHome
from tests.contract.docvec.asking import (
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
from tests.contract.docvec.conftest import serve_http
from tests.contract.docvec.documents import CODE, MARKDOWN, TEXT
from tests.contract.process import HttpServer, run_stdio
from tests.contract.session import Session


@pytest.fixture(scope="module")
def server(new_home: NewHome) -> Iterator[HttpServer]:
    with serve_http(new_home()) as server:
        yield server


@pytest.fixture(scope="module", params=["stdio", "sse", "http", "http-legacy"])
def session(request: pytest.FixtureRequest, new_home: NewHome) -> Iterator[Session]:
    """What a client speaks; `http-legacy` is Streamable HTTP before protocol 2026."""
    if request.param == "stdio":
        with run_stdio(new_home(), {}, ("docvec-mcp",)) as session:
            yield session
        return
    server: HttpServer = request.getfixturevalue("server")
    with server.session(request.param) as session:
        yield session


def test_all_nine_tools_work(empty: Session, folder: Path) -> None:
    session = empty
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
    file = str(folder / "client.py")
    assert done(session.call("delete_file", source_file=file))["source_file"] == file
    assert stats(session)["source_files"] == [
        str(folder / "handbook.md"),
        str(folder / "minutes.txt"),
    ]
    assert done(session.call("clear_index", confirm=True)) == {"deleted_count": 4}
    assert stats(session)["source_files"] == []


def test_an_error_wears_the_envelope(session: Session, folder: Path) -> None:
    path = str(folder / "README.md")
    answer = session.call("index_file", file_path=path)
    assert failed(answer, "FILE_NOT_FOUND") == f"File not found: {path}"


def test_a_wrong_argument_wears_the_envelope(session: Session) -> None:
    assert "n_results" in failed(session.call("search", query="x", n_results=51), "INVALID_INPUT")


def test_progress_is_reported(empty: Session, folder: Path) -> None:
    write(folder, {f"{n}.txt": f"Text number {n}.\n" for n in range(70)})
    job = empty.start("index_directory", dir_path=str(folder))
    assert counts(done(job.result())) == (70, 0, 0)
    assert [step for step, _, _ in job.progress] == [0, 64, 70]
    assert {total for _, total, _ in job.progress} == {70}
    # When all is known already, that is said as well.
    job = empty.start("index_directory", dir_path=str(folder))
    assert counts(done(job.result())) == (0, 70, 0)
    assert job.progress == [(70, 70, "70 of 70 files are indexed already")]


def test_characters_of_any_script_arrive_as_they_were_sent(empty: Session, folder: Path) -> None:
    text = 'café “naïve” Ωμέγα 図面 🚲 \\ " / tab\t.'
    file = write(folder, {"図面 🚲.txt": text}) / "図面 🚲.txt"
    index(empty, file)
    [chunk] = chunks_of(empty, file)
    assert chunk["content"] == text
