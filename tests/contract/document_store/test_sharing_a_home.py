"""One home, one process that has it: what a second one does."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.conftest import NewHome
from tests.contract.document_store.asking import (
    ingest,
    ingest_well,
    list_documents,
    read_text,
    refusal,
)
from tests.contract.process import (
    SCRIPTS,
    STOPPING_S,
    Home,
    HttpServer,
    run_http,
    run_stdio,
    run_to_end,
)
from tests.contract.session import Session
from tests.documents import PROSE, Scan, make_pdf, text_pdf

HOME_IN_USE = 4
TOKEN = {"MCP_API_KEY": "correct-horse"}
PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})


@pytest.fixture(scope="module")
def home(new_home: NewHome) -> Home:
    return new_home()


@pytest.fixture(scope="module")
def server(home: Home) -> Iterator[HttpServer]:
    """The process that has the home."""
    command = ("quinion", "serve", "document-store", "--port", "0")
    with run_http(home, TOKEN, command) as server:
        yield server


@pytest.fixture(scope="module")
def relayed(server: HttpServer, home: Home) -> Iterator[Session]:
    """A desktop client's session with a second process on the same home."""
    with run_stdio(home, TOKEN, ("quinion", "stdio", "document-store")) as session:
        yield session
    # The relay has ended with its client, and the server goes on.
    assert server.request("GET", "/health").status_code == 200


def test_a_second_process_on_stdio_passes_calls_on(
    server: HttpServer, relayed: Session, files: Path
) -> None:
    answer = ingest_well(relayed, text_pdf(files / "Letter.pdf", PROSE), "RELAY")
    assert read_text(relayed, answer["document_id"]) == PROSE
    with server.session(token=TOKEN["MCP_API_KEY"]) as direct:
        assert list_documents(direct, "RELAY") == list_documents(relayed, "RELAY")
        assert len(list_documents(direct, "RELAY")) == 1


def test_errors_are_passed_on(relayed: Session, files: Path) -> None:
    refusal(ingest(relayed, files / "missing.pdf"), "file_not_found")


def test_progress_is_passed_on(relayed: Session, files: Path) -> None:
    file = text_pdf(files / "Long.pdf", *[f"Page {n}.\n{PROSE}" for n in range(5)])
    job = relayed.start("ingest_document", file_path=str(file), application_ref="PROGRESS")
    assert job.result()["status"] == "success"
    assert [done for done, _, _ in job.progress][:5] == [1, 2, 3, 4, 5]


def test_a_cancel_is_passed_on(relayed: Session, files: Path) -> None:
    file = make_pdf(files / "Scan.pdf", [Scan(PROSE)] * 4)
    job = relayed.start("ingest_document", file_path=str(file), application_ref="CANCEL")
    job.wait_for_progress()
    job.cancel()
    # Had it gone on, this would wait for it and find its document.
    assert ingest(relayed, file, "CANCEL")["status"] == "success"


def test_a_relay_with_a_wrong_token_ends_and_says_why(server: HttpServer, home: Home) -> None:
    ended = run_to_end(home, {"MCP_API_KEY": "wrong"})
    assert ended.returncode != 0
    assert "Traceback" not in ended.stderr
    assert "MCP_API_KEY" in ended.stderr.splitlines()[-1]


def test_a_relay_ends_when_the_server_does(fresh_home: Home) -> None:
    with (
        run_http(fresh_home) as server,
        subprocess.Popen(
            [SCRIPTS / "document-store-mcp"],
            env=fresh_home.environment({}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as relay,
    ):
        assert relay.stdin is not None
        assert relay.stdout is not None
        assert relay.stderr is not None
        print(PING, file=relay.stdin, flush=True)
        assert json.loads(relay.stdout.readline())["id"] == 1
        server.stop()
        try:
            assert relay.wait(STOPPING_S) != 0
        finally:
            relay.kill()
        assert "Traceback" not in relay.stderr.read()


def test_a_second_http_server_is_refused(server: HttpServer, home: Home) -> None:
    ended = run_to_end(home, TOKEN, "--http", "--port", "0")
    assert ended.returncode == HOME_IN_USE
    line = ended.stderr.splitlines()[-1]
    assert str(home.path) in line
    assert str(server.process.pid) in line


def test_a_home_that_a_process_on_stdio_has_is_refused(fresh_home: Home) -> None:
    with run_stdio(fresh_home) as session:
        ended = run_to_end(fresh_home, {})
        assert ended.returncode == HOME_IN_USE
        assert ended.stdout == ""
        line = ended.stderr.splitlines()[-1]
        assert str(fresh_home.path) in line
        assert "QUINION_HOME" in line
        assert list_documents(session) == []


def test_another_home_with_the_same_vectors_is_refused(
    server: HttpServer, home: Home, fresh_home: Home
) -> None:
    ended = run_to_end(fresh_home, {"CHROMA_PERSIST_DIR": str(home.chroma)})
    assert ended.returncode == HOME_IN_USE
    assert str(home.chroma) in ended.stderr.splitlines()[-1]
