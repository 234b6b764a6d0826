"""Process of Chroma: start, exit, and translation of its failures."""

import os
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from quinion.errors import StoreUnavailable
from quinion.runtime_tuning import NICENESS
from quinion.store.chroma import process
from quinion.store.chroma.client import DATABASE, ChromaClient
from quinion.store.chroma.process import ChromaDamaged, open_chroma
from tests.contract.process import free_port
from tests.unit.store.chroma.chromas import (
    MODEL,
    NAME,
    at_once,
    eventually,
    find_processes,
    make_records,
    make_vectors,
    run_with,
)

NEVER_ANSWERS = (sys.executable, "-c", "import time; time.sleep(600)")
DIES = (sys.executable, "-c", "import os; os.abort()")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "chroma"


@pytest.fixture
def chroma(folder: Path) -> Iterator[ChromaClient]:
    with closing(open_chroma(folder)) as chroma:
        yield chroma


def put(chroma: ChromaClient, *numbers: int) -> None:
    chroma.apply(NAME, MODEL, [], make_records(*numbers), make_vectors(numbers))


def test_a_process_that_was_killed_is_started_again_by_the_next_call(
    chroma: ChromaClient, folder: Path
) -> None:
    assert find_processes(folder) == []  # the first call starts it
    put(chroma, 0, 1)
    [running] = find_processes(folder)
    running.kill()
    with pytest.raises(StoreUnavailable, match="died") as failure:
        chroma.count(NAME)
    assert not isinstance(failure.value, ChromaDamaged)
    assert chroma.count(NAME) == 2
    chroma.close()
    assert find_processes(folder) == []


@pytest.mark.slow
def test_two_deaths_in_a_row_are_taken_for_damage_and_one_at_a_time_is_not(
    chroma: ChromaClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chroma.count(NAME)
    for _ in range(2):
        [running] = find_processes(folder)
        running.kill()
        with pytest.raises(StoreUnavailable) as failure:
            chroma.count(NAME)
        assert not isinstance(failure.value, ChromaDamaged)
        assert chroma.count(NAME) == 0
    [running] = find_processes(folder)
    running.kill()
    monkeypatch.setattr(process, "COMMAND", DIES)
    with pytest.raises(StoreUnavailable) as failure:
        chroma.count(NAME)
    assert not isinstance(failure.value, ChromaDamaged)
    with pytest.raises(ChromaDamaged, match="chroma"):
        chroma.count(NAME)


def test_no_number_of_deaths_is_damage_of_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "COMMAND", DIES)
    with closing(open_chroma("http://127.0.0.1:1")) as chroma:
        for _ in range(3):
            with pytest.raises(StoreUnavailable) as failure:
                chroma.count(NAME)
            assert not isinstance(failure.value, ChromaDamaged)


def test_a_server_that_accepts_and_never_answers_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "SERVER_TIMEOUT_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with closing(open_chroma(address)) as chroma, at_once():
            with pytest.raises(StoreUnavailable, match=f"{address} .* timed out"):
                chroma.count(NAME)


def test_a_call_that_never_ends_times_out_and_its_process_is_killed(
    chroma: ChromaClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(process, "COMMAND", NEVER_ANSWERS)
        patch.setattr(process, "TIMEOUT_S", 0.5)
        with pytest.raises(StoreUnavailable, match="timed out"):
            chroma.count(NAME)
    assert find_processes(folder) == []
    assert chroma.count(NAME) == 0


def test_a_call_that_runs_fails_when_the_client_is_closed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "COMMAND", NEVER_ANSWERS)
    chroma = open_chroma(folder)
    failures: list[Exception] = []

    def ask() -> None:
        try:
            chroma.count(NAME)
        except StoreUnavailable as error:
            failures.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    eventually(lambda: find_processes(folder))
    with at_once():
        chroma.close()
        asking.join(30)
    assert "timed out" in str(failures[0])
    assert find_processes(folder) == []
    with pytest.raises(StoreUnavailable, match="was closed"):
        chroma.count(NAME)


def test_a_process_that_cannot_be_started_is_an_error(
    chroma: ChromaClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(process, "COMMAND", (str(tmp_path / "missing"),))
    for _ in range(3):
        with pytest.raises(StoreUnavailable, match="can't be started") as failure:
            chroma.count(NAME)
        assert not isinstance(failure.value, ChromaDamaged)


def test_damaged_files_are_reported_as_such_and_what_is_not_as_a_failure(
    chroma: ChromaClient, folder: Path
) -> None:
    put(chroma, 0)
    with pytest.raises(StoreUnavailable, match="failed: ") as failure:
        chroma.apply("no", MODEL, [], make_records(0), make_vectors([0]))  # too short a name
    assert not isinstance(failure.value, ChromaDamaged)
    (folder / DATABASE).write_bytes(b"something else " * 1_000)
    with pytest.raises(ChromaDamaged, match="not a database"):
        chroma.count(NAME)


def test_a_server_that_is_down_is_an_error_that_names_it() -> None:
    address = f"http://127.0.0.1:{free_port()}"
    with closing(open_chroma(address)) as chroma, pytest.raises(StoreUnavailable, match=address):
        chroma.count(NAME)


def test_it_has_low_priority_writes_private_files_and_prints_nothing(
    chroma: ChromaClient, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    umask = os.umask(0)
    try:
        put(chroma, 0, 1)
        [running] = find_processes(folder)
        assert running.nice() == NICENESS
        # The signal of a terminal's Ctrl-C goes to a process group.
        assert os.getpgid(running.pid) != os.getpgrp()
        chroma.close()
    finally:
        os.umask(umask)
    modes = {path: path.stat().st_mode for path in (folder, *folder.rglob("*"))}
    assert len(modes) > 3
    assert [path for path, mode in modes.items() if stat.S_IMODE(mode) & 0o077] == []
    assert capfd.readouterr() == ("", "")


def test_nothing_in_the_current_folder_is_imported(
    chroma: ChromaClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "chromadb.py").write_text("raise RuntimeError('of the user')")
    monkeypatch.chdir(tmp_path)
    assert chroma.count(NAME) == 0


SERVER = """
import os, signal, sys
from pathlib import Path
from quinion.store.chroma.process import open_chroma
chroma = open_chroma(Path(sys.argv[1]))
chroma.count("texts")
print(chroma._process.pid, flush=True)
signal.signal(signal.SIGINT, lambda *_: print("interrupted", flush=True))
print(chroma.count("texts"), flush=True)
for line in sys.stdin:
    if line == "exit\\n": sys.exit()
    print(chroma.count("texts"), flush=True)
"""


@pytest.fixture
def server(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has a Chroma: it prints the id of Chroma's process, and a number for each
    line that it gets."""
    command = [sys.executable, "-c", SERVER, str(folder)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as server:
        yield server
        server.kill()


def read_line(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    return server.stdout.readline().strip()


def say(server: subprocess.Popen[str], line: str) -> None:
    assert server.stdin is not None
    server.stdin.write(f"{line}\n")
    server.stdin.flush()


def is_gone(child: psutil.Process) -> bool:
    """Whether the process has exited; an orphan may remain as a zombie."""
    return not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize(
    "end",
    ["SIGKILL", *(pytest.param(end, marks=pytest.mark.slow) for end in ("exit", "SIGTERM"))],
)
def test_it_ends_with_its_server_however_that_ends(server: subprocess.Popen[str], end: str) -> None:
    child = psutil.Process(int(read_line(server)))
    assert read_line(server) == "0"
    if end == "exit":
        say(server, end)
    else:
        server.send_signal(signal.Signals[end])
    server.wait(30)
    eventually(lambda: is_gone(child))


def test_ctrl_c_goes_to_the_server_only(server: subprocess.Popen[str]) -> None:
    child = psutil.Process(int(read_line(server)))
    assert read_line(server) == "0"
    os.killpg(server.pid, signal.SIGINT)
    assert read_line(server) == "interrupted"
    say(server, "go on")
    assert read_line(server) == "0"
    assert child.is_running()


@pytest.mark.slow
def test_two_processes_on_one_folder_wait_for_each_other(
    server: subprocess.Popen[str], folder: Path
) -> None:
    child = psutil.Process(int(read_line(server)))
    assert read_line(server) == "0"
    with closing(open_chroma(folder)) as chroma:
        asking = threading.Thread(target=put, args=(chroma, 0))
        asking.start()
        eventually(lambda: len(find_processes(folder)) == 3)  # with the server itself
        asking.join(0.3)
        assert asking.is_alive()
        child.suspend()
        server.kill()  # the lock is its child's, which has not ended yet
        asking.join(0.3)
        assert asking.is_alive()
        child.resume()
        asking.join(30.0)
        assert not asking.is_alive()
        assert chroma.count(NAME) == 1


def test_a_folder_that_stays_locked_is_an_error_and_no_damage(
    chroma: ChromaClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(chroma, 0)
    monkeypatch.setattr(process, "COMMAND", run_with("client.LOCK_TIMEOUT_S = 0.2"))
    with closing(open_chroma(folder)) as second:
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="locked") as failure:
                second.count(NAME)
            assert not isinstance(failure.value, ChromaDamaged)


@pytest.mark.slow
def test_a_database_that_another_program_keeps_locked_is_an_error_and_no_damage(
    chroma: ChromaClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_chroma(folder)) as first:
        put(first, 0)
    with closing(sqlite3.connect(folder / DATABASE)) as other, monkeypatch.context() as patch:
        other.execute("BEGIN EXCLUSIVE")
        patch.setattr(process, "COMMAND", NEVER_ANSWERS)  # Chroma waits for the lock forever
        patch.setattr(process, "TIMEOUT_S", 0.3)
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="timed out") as failure:
                chroma.count(NAME)
            assert not isinstance(failure.value, ChromaDamaged)
        patch.undo()
        patch.setattr(process, "COMMAND", run_with("client.LOCK_TIMEOUT_S = 0.2"))
        with pytest.raises(StoreUnavailable, match="database is locked") as failure:
            chroma.count(NAME)
        assert not isinstance(failure.value, ChromaDamaged)
    assert chroma.count(NAME) == 1


@pytest.mark.slow
def test_python_threads_run_while_chroma_writes(chroma: ChromaClient) -> None:
    numbers = range(2_000)
    records, vectors = make_records(*numbers), make_vectors(numbers, 384)
    chroma.count(NAME)
    pauses: list[float] = []
    written = threading.Event()

    def look() -> None:
        while not written.is_set():
            began = time.perf_counter()
            time.sleep(0.001)
            pauses.append(time.perf_counter() - began)

    thread = threading.Thread(target=look)
    thread.start()
    began = time.perf_counter()
    chroma.apply(NAME, MODEL, [], records, vectors)
    took = time.perf_counter() - began
    written.set()
    thread.join()
    assert max(pauses) < took / 2
