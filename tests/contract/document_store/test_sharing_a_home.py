"""A home that a server on HTTP has: what a second process does."""

from collections.abc import Iterator
from dataclasses import replace
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


@pytest.fixture(scope="module")
def home(new_home: NewHome) -> Home:
    return replace(new_home(), mirrored=True)


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


def test_a_second_http_server_is_refused(server: HttpServer, home: Home) -> None:
    home.need_files()  # servers that share a database may share a home
    ended = run_to_end(home, TOKEN, "--http", "--port", "0")
    assert ended.returncode == HOME_IN_USE
    line = ended.stderr.splitlines()[-1]
    assert str(home.path) in line
    assert str(server.process.pid) in line


def test_another_home_with_the_same_mirror_is_refused(
    server: HttpServer, home: Home, fresh_home: Home
) -> None:
    home.need_files()
    ended = run_to_end(fresh_home, {"CHROMA_PERSIST_DIR": str(home.chroma)})
    assert ended.returncode == HOME_IN_USE
    assert str(home.chroma) in ended.stderr.splitlines()[-1]
