"""Server processes on one database, of which one is frozen or killed at work."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.conftest import NewHome
from tests.contract.document_store.asking import find, ingest, ingest_well, list_documents
from tests.contract.process import Home, read_note, run_http, run_stdio, run_to_end
from tests.documents import PROSE, text_pdf
from tests.postgres_server import PROGRAMS, WHY_NOT, PostgresServer, needs_postgres, postgres_server

pytestmark = [needs_postgres, pytest.mark.slow, pytest.mark.timeout(600)]

TAKEN_OVER_S = 60.0
"""A lease and what the other server does afterwards, on a busy machine."""


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    if not PROGRAMS:
        pytest.skip(WHY_NOT)
    with postgres_server() as server:
        yield server


@pytest.fixture
def homes(new_home: NewHome, database: PostgresServer) -> list[Home]:
    """Homes of two servers that share a database."""
    url = database.new_database()
    made = [new_home() for _ in range(2)]
    return [Home(home.path, home.files, mirrored=False, database=url) for home in made]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A document that takes some time."""
    pages = (f"{PROSE * 2} This is on page {number}." for number in range(120))
    return text_pdf(tmp_path / "statement.pdf", *pages)


def check_one_document(home: Home) -> None:
    """Check that the store has one document, and is intact."""
    ended = run_to_end(home, {}, "verify", program="quinion")
    assert ended.returncode == 0, ended.stdout


def test_a_server_that_was_frozen_past_its_lease_cannot_write(
    homes: list[Home], file: Path, database: PostgresServer
) -> None:
    with run_http(homes[0]) as one, run_http(homes[1]) as two:
        with one.session() as frozen, two.session() as session:
            job = frozen.start("ingest_document", file_path=str(file), application_ref="A")
            job.wait_for_progress()
            one.process.send_signal(signal.SIGSTOP)
            try:
                begun = time.monotonic()
                new = ingest_well(session, file, "A")
                assert time.monotonic() - begun < TAKEN_OVER_S
            finally:
                one.process.send_signal(signal.SIGCONT)
            answer = job.result()
            assert answer["status"] == "error", answer
            assert "taken this work over" in answer["message"]
            assert ingest(frozen, file, "A")["document_id"] == new["document_id"]
            [document] = list_documents(frozen, "A")
            assert document["document_id"] == new["document_id"]
            database.stop()
            database.start()
            for one_session in (frozen, session):
                assert find(one_session, "page 7", application_ref="A")
    check_one_document(homes[0])


def test_the_work_of_a_server_that_was_killed_is_done_by_another(
    homes: list[Home], file: Path
) -> None:
    command = ("quinion", "stdio", "document-store")
    with run_stdio(homes[0], command=command) as killed, run_http(homes[1]) as two:
        with two.session() as session:
            job = killed.start("ingest_document", file_path=str(file), application_ref="A")
            job.wait_for_progress()
            pid = read_note(homes[0])["pid"]
            assert isinstance(pid, int)
            os.kill(pid, signal.SIGKILL)
            job.forget()
            begun = time.monotonic()
            new = ingest_well(session, file, "A")
            assert time.monotonic() - begun < TAKEN_OVER_S
            again = ingest(killed, file, "A")  # its relay has started another engine
            assert (again["status"], again["document_id"]) == (
                "already_ingested",
                new["document_id"],
            )
    check_one_document(homes[1])
