"""Long runs beside everything else: cancelled ones, several at once, and what a restart finds.

The embedding server of these tests waits when it is told to, so that what happens in the middle
of a run really does.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.docvec.asking import (
    chunks_of,
    counts,
    done,
    files_found,
    find,
    index,
    index_all,
    stats,
    write,
)
from tests.contract.docvec.conftest import holding, with_ollama
from tests.contract.local import LocalServer, Serve
from tests.contract.process import Home
from tests.contract.session import PATIENCE_S, Session
from tests.ollama_server import OllamaServer, ollama_server

GROUP = 64
"""Files that are stored at once; they are two batches for the embedding server."""
NOTICE_S = 2.0
"""How long the server gets to hear that nobody waits any more, before its embedding goes on."""


@pytest.fixture(scope="module")
def ollama() -> Iterator[OllamaServer]:
    with ollama_server() as server:
        # Short vectors: some of these files are long.
        server.dimensions = 16
        yield server


@pytest.fixture(scope="module")
def server(home: Home, ollama: OllamaServer, serve: Serve) -> Iterator[LocalServer]:
    with serve(home, with_ollama(ollama)) as server:
        yield server


@pytest.fixture
def many(folder: Path) -> Path:
    """More files than two groups have."""
    return write(folder, {f"{n:03d}.txt": f"Text number {n} of many.\n" for n in range(150)})


@pytest.fixture
def warm(empty: Session, tmp_path: Path) -> Session:
    """The session, when the embedding server has been asked all that it is asked once."""
    index(empty, write(tmp_path / "warm", {"up.txt": "A word about bats.\n"}) / "up.txt")
    return empty


def check_whole(session: Session, files: int) -> None:
    """So many files are listed, and each has its one chunk."""
    data = stats(session)
    assert (data["unique_files"], data["total_chunks"]) == (files, files)


def test_a_cancelled_run_leaves_whole_files_and_the_next_one_finishes_it(
    warm: Session, ollama: OllamaServer, many: Path
) -> None:
    with holding(ollama, after=2):
        job = warm.start("index_directory", dir_path=str(many))
        job.wait_for_progress()
        assert ollama.arrived.wait(PATIENCE_S)
        job.cancel()
        time.sleep(NOTICE_S)
    data = index_all(warm, many)
    assert counts(data) == (150 - GROUP, GROUP, 0)
    check_whole(warm, 151)


@pytest.mark.slow
def test_a_client_that_goes_away_is_as_good_as_a_cancel(
    warm: Session, server: LocalServer, ollama: OllamaServer, many: Path
) -> None:
    with holding(ollama, after=2):
        with server.session("legacy") as other:
            job = other.start("index_directory", dir_path=str(many))
            job.wait_for_progress()
            assert ollama.arrived.wait(PATIENCE_S)
            job.forget()
        time.sleep(NOTICE_S)
    assert counts(index_all(warm, many)) == (150 - GROUP, GROUP, 0)
    check_whole(warm, 151)


def test_two_runs_at_once_index_everything_once(
    warm: Session, ollama: OllamaServer, many: Path
) -> None:
    with holding(ollama):
        first = warm.start("index_directory", dir_path=str(many))
        assert ollama.arrived.wait(PATIENCE_S)
        second = warm.start("index_directory", dir_path=str(many))
        third = warm.start("index_file", file_path=str(many / "007.txt"))
    results = [done(job.result()) for job in (first, second)]
    assert sorted(map(counts, results)) == [(0, 150, 0), (150, 0, 0)]
    assert done(third.result())["duplicate_of"] == str(many / "007.txt")
    check_whole(warm, 151)


def test_everything_else_answers_during_a_run_and_sees_only_what_is_whole(
    warm: Session, ollama: OllamaServer, many: Path
) -> None:
    with holding(ollama):
        job = warm.start("index_directory", dir_path=str(many))
        assert ollama.arrived.wait(PATIENCE_S)
        assert files_found(warm, "bats", n_results=50) == ["up.txt"]
        assert stats(warm)["unique_files"] == 1
        [chunk] = find(warm, "bats", n_results=1)
        assert done(warm.call("delete_chunks", ids=[chunk["chunk_id"]]))["deleted_count"] == 1
        assert job.is_running
    assert counts(done(job.result())) == (150, 0, 0)
    check_whole(warm, 150)


def test_clearing_during_a_run_leaves_a_whole_state(
    warm: Session, ollama: OllamaServer, many: Path
) -> None:
    with holding(ollama, after=2):
        job = warm.start("index_directory", dir_path=str(many))
        job.wait_for_progress()
        assert ollama.arrived.wait(PATIENCE_S)
        assert done(warm.call("clear_index", confirm=True)) == {"deleted_count": GROUP + 1}
    done(job.result())
    check_whole(warm, 150 - GROUP)
    assert counts(index_all(warm, many)) == (GROUP, 150 - GROUP, 0)


@pytest.mark.slow
def test_a_file_of_a_hundred_thousand_lines_is_indexed_to_the_last_one(
    empty: Session, folder: Path
) -> None:
    lines = [f"{n} words stand on this line" for n in range(1, 100_001)]
    file = write(folder, {"long.txt": "\n".join(lines)}) / "long.txt"
    data = index(empty, file)
    assert data["chunks_created"] == len(data["chunk_ids"]) + data["chunk_ids_omitted"] > 1000
    last = data["chunks_created"] - 1
    for filters in ({"start_line": 1}, {"chunk_index": last}):
        [chunk] = find(empty, "words", filters=filters, n_results=1)
        place = slice(chunk["metadata"]["start_line"] - 1, chunk["metadata"]["end_line"])
        assert chunk["content"].split("\n") == lines[place]
    assert chunk["metadata"]["end_line"] == 100_000


@pytest.mark.slow
def test_a_line_of_ten_megabytes_is_indexed(empty: Session, folder: Path) -> None:
    file = write(folder, {"line.txt": "x" * 10_000_000}) / "line.txt"
    data = index(empty, file)
    last = {"chunk_index": data["chunks_created"] - 1}
    [chunk] = find(empty, "x", filters=last, n_results=1)
    assert set(chunk["content"]) == {"x"}
    assert (chunk["metadata"]["start_line"], chunk["metadata"]["end_line"]) == (1, 1)


@pytest.fixture
def restarted(
    fresh_home: Home, ollama: OllamaServer, folder: Path, serve: Serve
) -> Iterator[Session]:
    """A second server on a home in which another has indexed."""
    write(folder, {"a.md": "# Bats\n\nThey sleep by day.\n", "b.txt": "Trains leave hourly.\n"})
    with serve(fresh_home, with_ollama(ollama)) as server, server.session() as session:
        index_all(session, folder)
    with serve(fresh_home, with_ollama(ollama)) as server, server.session() as session:
        yield session


def test_a_restart_keeps_everything(restarted: Session, folder: Path) -> None:
    assert stats(restarted)["unique_files"] == 2
    [chunk] = chunks_of(restarted, folder / "a.md")
    assert chunk["metadata"]["header_path"] == "Bats"
    assert files_found(restarted, "trains hourly")[0] == "b.txt"
    assert counts(index_all(restarted, folder)) == (0, 2, 0)
