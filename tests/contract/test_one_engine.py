"""One engine per home, shared by stdio clients, commands and servers."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest
from mcp.shared.exceptions import MCPError

from quinion import __version__
from quinion.daemon import client as daemon_client
from quinion.daemon.handshake import Hello
from quinion.errors import HomeInUse
from quinion.settings import Settings
from quinion.store.lock import is_held
from tests.contract.conftest import NewHome
from tests.contract.document_store.asking import (
    ingest,
    ingest_well,
    list_documents,
    read_text,
)
from tests.contract.docvec.asking import index, stats
from tests.contract.process import (
    SCRIPTS,
    Home,
    Variables,
    read_note,
    run_http,
    run_stdio,
    run_to_end,
)
from tests.contract.session import PATIENCE_S, Session
from tests.documents import PROSE, Scan, make_pdf, text_pdf

HOME_IN_USE = 4
BAD_SETTING = 3
STORE = ("quinion", "stdio", "document-store")
LINGER: Variables = {"QUINION_IDLE_SECONDS": "600"}


@pytest.fixture
def home(new_home: NewHome) -> Iterator[Home]:
    """A home for one test; stops an engine that remains in the background."""
    home = new_home()
    yield home
    daemon_client.stop_engine(home.path)
    assert "Traceback" not in home.engine_log


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return tmp_path


@contextmanager
def client(home: Home) -> Iterator[Session]:
    """Start one of several desktop clients of the Document Store."""
    with run_stdio(home, command=STORE, alone=False) as session:
        yield session


@contextmanager
def client_of_a_lasting_engine(home: Home) -> Iterator[Session]:
    with run_stdio(home, LINGER, STORE, alone=False) as session:
        yield session


def engine_of(home: Home) -> psutil.Process:
    """Return the process that holds the home."""
    pid = read_note(home)["pid"]
    assert isinstance(pid, int)
    return psutil.Process(pid)


def wait_for_the_end_of(engine: psutil.Process) -> None:
    """Wait until a process has exited, and a moment for its clients to notice."""
    engine.wait(PATIENCE_S)
    time.sleep(0.3)


@pytest.mark.slow
def test_clients_share_one_engine(home: Home, files: Path) -> None:
    with client(home) as one, client(home) as other:
        engine = engine_of(home)
        answer = ingest_well(one, text_pdf(files / "Letter.pdf", PROSE))
        assert read_text(other, answer["document_id"]) == PROSE
        with run_stdio(home, command=("quinion", "stdio", "docvec"), alone=False) as third:
            assert stats(third)["total_chunks"] == 0
        assert engine_of(home) == engine
    engine.wait(PATIENCE_S)


def test_an_engine_is_no_part_of_the_client_that_started_it(home: Home, files: Path) -> None:
    """Clients kill the process group, the session or the tree of the command they started."""
    with subprocess.Popen(
        [SCRIPTS / "document-store-mcp"],
        env=home.environment({}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as first:
        with client(home) as second:
            engine = engine_of(home)
            assert engine not in psutil.Process(first.pid).children(recursive=True)
            assert os.getsid(engine.pid) == engine.pid
            first.kill()
            ingest_well(second, text_pdf(files / "Letter.pdf", PROSE))
            assert engine_of(home) == engine


@pytest.mark.slow
def test_an_engine_waits_for_another_client(home: Home) -> None:
    with client_of_a_lasting_engine(home) as session:
        assert list_documents(session) == []
        engine = engine_of(home)
    with client_of_a_lasting_engine(home):
        assert engine_of(home) == engine
    ended = run_to_end(home, LINGER, "stop", program="quinion")
    assert str(home.path) in ended.stdout
    assert not is_held(home.path)
    assert "No engine" in run_to_end(home, LINGER, "stop", program="quinion").stdout


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_when_the_engine_dies_the_next_call_starts_another(
    home: Home, files: Path, mode: str
) -> None:
    with run_stdio(home, command=STORE, mode=mode) as session:
        answer = ingest_well(session, text_pdf(files / "Letter.pdf", PROSE))
        engine = engine_of(home)
        engine.kill()
        wait_for_the_end_of(engine)
        assert read_text(session, answer["document_id"]) == PROSE
        assert engine_of(home) != engine


@pytest.mark.slow
def test_calls_that_the_engine_did_not_answer_are_errors(home: Home, files: Path) -> None:
    file = make_pdf(files / "Scan.pdf", [Scan(PROSE)] * 4)
    with client(home) as session:
        job = session.start("ingest_document", file_path=str(file), application_ref="A")
        job.wait_for_progress()
        engine = engine_of(home)
        engine.kill()
        with pytest.raises(MCPError, match="Call again"):
            job.reply()
        # It left no partial data, so the same call succeeds.
        assert ingest(session, file, "A")["status"] == "success"


@pytest.mark.slow
def test_an_engine_of_another_version_is_detected(home: Home) -> None:
    settings = Settings(home=home.path, chroma_dir=home.chroma)
    with client(home):
        engine = engine_of(home)
        with pytest.raises(HomeInUse, match=rf"{engine.pid}.*{__version__}.*0\.0\.1.*quinion stop"):
            daemon_client._handshake(
                home.path, Hello("0.0.1", "document-store", "", settings.dump())
            )
    with client_of_a_lasting_engine(home):
        engine = engine_of(home)
    # It has no clients left, so it exits.
    time.sleep(0.5)
    assert (
        daemon_client._handshake(home.path, Hello("0.0.1", "document-store", "", settings.dump()))
        is None
    )
    engine.wait(PATIENCE_S)


def test_settings_that_differ_are_named(home: Home) -> None:
    with client(home) as session:
        ended = run_to_end(home, {"ENABLE_OCR": "false", "IMAGE_RATIO_THRESHOLD": "0.5"})
        assert ended.returncode == HOME_IN_USE
        line = ended.stderr.splitlines()[-1]
        assert "ENABLE_OCR, IMAGE_RATIO_THRESHOLD" in line
        assert ended.stdout == ""
        assert list_documents(session) == []


@pytest.mark.slow
def test_an_idle_engine_is_replaced_for_other_settings(home: Home) -> None:
    with client_of_a_lasting_engine(home):
        engine = engine_of(home)
    ended = run_to_end(home, {"ENABLE_OCR": "false"}, "search", "parking", program="quinion")
    assert ended.returncode == 0, ended.stderr
    engine.wait(PATIENCE_S)


@pytest.mark.slow
def test_settings_of_another_server_do_not_matter(home: Home) -> None:
    with client(home):
        with run_stdio(home, {"DOCVEC_CHUNK_SIZE": "100"}, ("docvec-mcp",), alone=False) as session:
            assert stats(session)["total_chunks"] == 0


@pytest.mark.slow
def test_two_collections_live_in_one_engine(home: Home, files: Path) -> None:
    (files / "a.md").write_text("# A\n\nOne text.\n")
    with (
        run_stdio(home, command=("docvec-mcp", "--collection", "one"), alone=False) as one,
        run_stdio(home, command=("docvec-mcp", "--collection", "two"), alone=False) as two,
    ):
        index(one, files / "a.md")
        assert stats(one)["unique_files"] == 1
        assert stats(two)["unique_files"] == 0


@pytest.mark.slow
def test_a_relative_path_is_relative_to_the_client(home: Home, files: Path) -> None:
    (files / "a.md").write_text("# A\n\nOne text.\n")
    with run_stdio(home, command=("docvec-mcp",), folder=files) as session:
        index(session, "a.md")
        assert stats(session)["source_files"] == [str(files / "a.md")]


@pytest.mark.slow
def test_serve_takes_the_home_over_and_gives_it_back(home: Home, files: Path) -> None:
    with client(home) as session:
        answer = ingest_well(session, text_pdf(files / "Letter.pdf", PROSE))
        engine = engine_of(home)
        with run_http(home) as server:
            wait_for_the_end_of(engine)
            assert read_text(session, answer["document_id"]) == PROSE
            assert engine_of(home).pid == server.process.pid
            with server.session() as direct:
                assert list_documents(direct) == list_documents(session)
        time.sleep(0.3)
        assert read_text(session, answer["document_id"]) == PROSE
        assert engine_of(home).pid != server.process.pid


@pytest.mark.slow
def test_a_server_on_http_does_not_leave_for_another(home: Home) -> None:
    with run_http(home) as server:
        ended = run_to_end(home, {}, "stop", program="quinion")
        assert ended.returncode == HOME_IN_USE
        assert str(server.process.pid) in ended.stderr.splitlines()[-1]


@pytest.mark.slow
def test_clients_can_connect_during_a_long_command(home: Home, files: Path) -> None:
    (files / "a.md").write_text("# A\n\nOne text.\n")
    with subprocess.Popen(
        [SCRIPTS / "quinion", "index", "--watch", files],
        env=home.environment({}),
        stdout=subprocess.PIPE,
        text=True,
    ) as watching:
        try:
            assert watching.stdout is not None
            while "Watching" not in watching.stdout.readline():
                pass
            with run_stdio(home, command=("docvec-mcp",), alone=False) as session:
                assert stats(session)["unique_files"] == 1
                assert engine_of(home).pid == watching.pid
        finally:
            watching.terminate()


def test_a_home_with_a_very_long_path(new_home: NewHome, models: Path, files: Path) -> None:
    home = Home(files / ("long " * 40), files)
    home.path.mkdir()
    (home.path / "models").symlink_to(models)
    with client(home) as one, client(home) as other:
        assert list_documents(one) == list_documents(other) == []
        place = Path(str(read_note(home)["socket"]))
        assert home.path not in place.parents
        assert place.parent.stat().st_mode & 0o077 == 0
    assert not place.parent.exists()


def test_the_socket_is_for_its_owner_alone(home: Home) -> None:
    with client(home):
        assert (home.path / "engine.sock").stat().st_mode & 0o077 == 0


def test_a_home_that_cannot_be_used_is_one_line(home: Home, files: Path) -> None:
    home.need_files()
    (files / "file").write_text("")
    ended = run_to_end(home, {"QUINION_HOME": str(files / "file" / "home")})
    assert ended.returncode == BAD_SETTING
    assert "QUINION_HOME" in ended.stderr.splitlines()[-1]
    assert ended.stdout == ""


def test_an_engine_that_cannot_start_is_one_line(home: Home, files: Path) -> None:
    home.need_files()
    (files / "file").write_text("")
    ended = run_to_end(home, {"CHROMA_PERSIST_DIR": str(files / "file" / "chroma")})
    assert ended.returncode == BAD_SETTING
    assert "CHROMA_PERSIST_DIR" in ended.stderr.splitlines()[-1]


def test_a_further_client_costs_little(home: Home) -> None:
    """The relay does not load the engine."""
    with client(home):
        with subprocess.Popen(
            [SCRIPTS / "document-store-mcp"],
            env=home.environment({}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as relay:
            assert relay.stdin is not None
            assert relay.stdout is not None
            print(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}), file=relay.stdin)
            relay.stdin.flush()
            assert json.loads(relay.stdout.readline())["id"] == 1
            assert psutil.Process(relay.pid).memory_info().rss < 60e6


@pytest.mark.slow
def test_many_clients_that_start_at_once_share_one_engine(home: Home, files: Path) -> None:
    with ExitStack() as stack:
        relays = [
            stack.enter_context(
                subprocess.Popen(
                    [SCRIPTS / "document-store-mcp"],
                    env=home.environment(LINGER),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(8)
        ]
        for relay in relays:
            assert relay.stdin is not None
            assert relay.stdout is not None
            print(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}), file=relay.stdin)
            relay.stdin.flush()
            assert json.loads(relay.stdout.readline())["id"] == 1
        engines = [
            process
            for process in psutil.process_iter(["cmdline", "environ"])
            if "quinion.daemon.background" in (process.info["cmdline"] or [])
            and (process.info["environ"] or {}).get("QUINION_HOME") == str(home.path)
        ]
        assert engines == [engine_of(home)]
        for relay in relays:
            assert relay.stdin is not None
            relay.stdin.close()
