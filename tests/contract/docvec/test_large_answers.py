"""No answer is larger than a client can take: 1 MiB, which is where the Python SDK gives up."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.contract.docvec.asking import done, failed, find, index, index_all, write
from tests.contract.docvec.conftest import with_ollama
from tests.contract.local import LocalServer, Serve
from tests.contract.process import Home
from tests.contract.resources import addresses, read_json, read_parts
from tests.contract.session import Answer, Session
from tests.ollama_server import ollama_server

MIB = 1 << 20
MANY = 1500
# Paths are long, so that fewer files are needed.
DEEP = "/".join(["a folder with a name that is rather long " + "x" * 80] * 2)


@pytest.fixture(scope="module")
def server(home: Home, serve: Serve) -> Iterator[LocalServer]:
    with ollama_server() as ollama:
        ollama.dimensions = 16
        with serve(home, with_ollama(ollama, DOCVEC_CHUNK_SIZE="8192")) as server:
            yield server


@pytest.fixture(scope="module")
def session(server: LocalServer) -> Iterator[Session]:
    """A session that checks the size of every answer."""
    with server.session() as session:
        yield session


@pytest.fixture(scope="module")
def run(server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """What is said of very many files, good ones and bad ones."""
    folder = tmp_path_factory.mktemp("many") / DEEP
    write(folder, {f"{n:04d}.txt": f"Text number {n}.\n" for n in range(MANY)})
    for n in range(MANY):
        (folder / f"bad {n:04d}.txt").symlink_to(folder / "nothing")
    with server.session("legacy") as session:
        return done(session.call("index_directory", dir_path=str(folder)))


@pytest.mark.slow
def test_a_folder_of_very_many_files_keeps_the_counts_and_says_what_is_left_out(
    run: Answer,
) -> None:
    assert run["new_documents"] == run["total_chunks"] == MANY
    assert len(run["errors"]) + run["errors_omitted"] == MANY
    assert len(run["chunk_ids"]) + run["chunk_ids_omitted"] == MANY
    assert run["errors_omitted"] > 0
    assert run["chunk_ids_omitted"] > 0
    assert len(run["errors"]) > 300


@pytest.mark.slow
def test_a_long_list_of_files_comes_in_parts_that_add_up(session: Session, run: Answer) -> None:
    listed: list[str] = []
    start: int | None = 0
    parts = 0
    while start is not None:
        data = done(session.call("get_index_stats", from_file=start))
        assert (data["unique_files"], data["total_chunks"]) == (MANY, MANY)
        listed += data["source_files"]
        start = data["next_file"]
        parts += 1
    assert parts > 1
    assert len(set(listed)) == len(listed) == MANY
    assert listed == sorted(listed)


def test_a_long_list_of_files_is_a_resource_that_fits(session: Session, run: Answer) -> None:
    data = read_json(session, "docvec://files")
    assert data["unique_files"] == MANY
    assert 0 < data["next_file"] == len(data["source_files"]) < MANY
    # Addresses are longer than paths: fewer than the hundred that are listed at the most.
    assert 1 < len(addresses(session)) <= 101


def test_a_long_file_says_where_it_goes_on(session: Session, folder: Path) -> None:
    lines = [f'{n} "words" stand on this \\ line' for n in range(50_000)]
    path = write(folder, {"long.txt": "\n".join(lines)}) / "long.txt"
    index(session, path)
    parts = read_parts(session, f"docvec://file/{quote(str(path), safe='')}")
    assert len(parts) > 1
    assert "\n".join(parts).replace("\n\n", "\n").split("\n") == lines
    done(session.call("delete_file", source_file=str(path)))


@pytest.mark.slow
def test_results_that_do_not_fit_are_left_out_from_the_end_and_counted(
    session: Session, run: Answer, folder: Path
) -> None:
    # Each is as long as a chunk may be; quotes double twice when they are JSON in JSON.
    write(folder, {f"{n}.txt": f"Quotation {n}: " + '"\\" ' * 3000 for n in range(50)})
    index_all(session, folder)
    where = {"source_file": {"$contains": str(folder)}}
    data = done(session.call("search_with_filters", query="quotation", filters=where, n_results=50))
    assert len(data["results"]) + data["results_omitted"] == 50
    assert 0 < data["results_omitted"] < 50
    fewer = find(session, "quotation", filters=where, n_results=5)
    assert [r["score"] for r in fewer] == [r["score"] for r in data["results"][:5]]
    budget = done(session.call("search_with_budget", query="quotation", max_tokens=10_000_000))
    assert budget["results_omitted"] > 0
    assert budget["truncated"] is False
    for path in folder.iterdir():
        done(session.call("delete_file", source_file=str(path)))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("index_file", {"file_path": "/" + "x" * MIB}),
        ("index_directory", {"dir_path": "/" + "x" * MIB}),
        ("search_with_filters", {"query": "bats", "filters": {"x" * MIB: 1}}),
        ("search_with_filters", {"query": "bats", "filters": {"page_number": {"x" * MIB: 1}}}),
        ("search_with_filters", {"query": "bats", "filters": {"page_number": "x" * MIB}}),
        ("delete_chunks", {"ids": ["x" * MIB]}),
        ("delete_chunks", {"ids": [1] * 5000}),
        ("delete_file", {"source_file": "x" * MIB}),
        ("search", {"query": "bats", "x" * MIB: 1}),
        ("x" * MIB, {}),
    ],
    ids=[
        *("file_path", "dir_path", "field", "operator", "value", "id", "ids"),
        *("source_file", "unknown", "tool"),
    ],
)
def test_a_huge_argument_does_not_come_back_huge(
    server: LocalServer, tool: str, arguments: Answer
) -> None:
    with server.session("legacy") as session:
        assert len(failed(session.call(tool, **arguments), "INVALID_INPUT")) < 10_000
        # The connection has survived, and the next call works.
        assert done(session.call("delete_chunks", ids=[]))["deleted_count"] == 0


def test_ten_thousand_ids_are_taken(session: Session) -> None:
    ids = [f"{n:024x}_{n}" for n in range(10_000)]
    assert done(session.call("delete_chunks", ids=ids))["deleted_count"] == 0


@pytest.mark.slow
def test_a_file_of_very_many_chunks_says_how_many_ids_are_left_out(
    fresh_home: Home, folder: Path, serve: Serve
) -> None:
    text = "\n".join(f"{n} words stand on this line" for n in range(100_000))
    file = write(folder, {"long.txt": text}) / "long.txt"
    with ollama_server() as ollama:
        ollama.dimensions = 4
        variables = with_ollama(ollama, DOCVEC_CHUNK_SIZE="32")
        with serve(fresh_home, variables) as server, server.session("legacy") as session:
            data = index(session, file)
    assert data["chunk_ids_omitted"] > 0
    assert data["chunks_created"] == len(data["chunk_ids"]) + data["chunk_ids_omitted"]
