"""Long ingests beside everything else: several at once, cancelled ones, and quick answers."""

import time
from contextlib import closing
from pathlib import Path

import pytest

from quinion.store.factory import StorePlace, open_store
from tests.contract.document_store.asking import (
    chunks_of,
    find,
    ingest,
    ingest_well,
    list_documents,
)
from tests.contract.local import LocalServer
from tests.contract.process import Home, HttpServer, run_http
from tests.contract.session import Session
from tests.documents import PROSE, Scan, make_pdf, text_pdf

QUICK_S = 2.0
"""Much more than an answer takes, and much less than the ingest beside it."""


@pytest.fixture(scope="module")
def slow_scan(files: Path) -> Path:
    """A document that takes some seconds, page by page."""
    page = Scan("\n".join([PROSE] * 3))
    return make_pdf(files / "Scanned report.pdf", [page] * 8)


def test_health_and_searches_answer_during_a_long_ingest(
    http_server: HttpServer, slow_scan: Path
) -> None:
    with http_server.session() as session:
        check_answers_during_a_long_ingest(http_server, session, slow_scan)


def check_answers_during_a_long_ingest(
    server: HttpServer, session: Session, slow_scan: Path
) -> None:
    find(session, "anything")  # the model is loaded from here on
    job = session.start("ingest_document", file_path=str(slow_scan), application_ref="LONG WORK")
    job.wait_for_progress()
    for _ in range(3):
        begun = time.monotonic()
        assert server.request("GET", "/health").json() == {"status": "ok"}
        find(session, "cycle parking")
        list_documents(session, "LONG WORK")
        assert time.monotonic() - begun < QUICK_S
    assert job.is_running
    # Nothing of it is seen before all of it is there.
    assert find(session, "cycle parking", application_ref="LONG WORK") == []
    job.cancel()


def test_a_short_document_does_not_wait_for_a_long_one(
    session: Session, slow_scan: Path, files: Path
) -> None:
    job = session.start("ingest_document", file_path=str(slow_scan), application_ref="LONG WAIT")
    job.wait_for_progress()
    ingest_well(session, text_pdf(files / "Short.pdf", f"Short.\n{PROSE}"), "SHORT")
    assert job.is_running
    job.cancel()


def test_thirty_two_ingests_of_one_file_at_once_make_one_document(
    session: Session, files: Path
) -> None:
    file = text_pdf(files / "Wanted by all.pdf", *[f"Page {n}.\n{PROSE}" for n in range(9)])
    jobs = [
        session.start("ingest_document", file_path=str(file), application_ref="AT ONCE")
        for _ in range(32)
    ]
    answers = [job.result() for job in jobs]
    statuses = [answer["status"] for answer in answers]
    assert sorted(statuses) == ["already_ingested"] * 31 + ["success"]
    assert len({answer["document_id"] for answer in answers}) == 1
    [listed] = list_documents(session, "AT ONCE")
    chunks = chunks_of(session, listed["document_id"], "AT ONCE")
    assert len(chunks) == listed["chunk_count"]
    assert [chunk["metadata"]["chunk_index"] for chunk in chunks] == list(range(len(chunks)))


def test_one_file_for_many_applications_at_once_is_as_many_documents(
    session: Session, files: Path
) -> None:
    # All of them would have the same id, were the prefix not to grow.
    file = text_pdf(files / "For all.pdf", f"For all.\n{PROSE}")
    refs = [f"25{mark}0815{mark}FUL" for mark in "/-_. +~:"]
    jobs = [
        session.start("ingest_document", file_path=str(file), application_ref=ref) for ref in refs
    ]
    assert [job.result()["status"] for job in jobs] == ["success"] * len(refs)
    listed = [list_documents(session, ref) for ref in refs]
    assert [len(documents) for documents in listed] == [1] * len(refs)
    assert len({documents[0]["document_id"] for documents in listed}) == len(refs)


def test_of_two_that_wait_for_the_same_file_one_goes_on_when_the_other_is_cancelled(
    session: Session, files: Path
) -> None:
    file = make_pdf(files / "Twice.pdf", [Scan(PROSE)] * 4)
    arguments = {"file_path": str(file), "application_ref": "TWICE"}
    first = session.start("ingest_document", **arguments)
    first.wait_for_progress()
    second = session.start("ingest_document", **arguments)
    first.cancel()
    assert second.result()["status"] == "success"


def test_a_cancel_in_the_very_end_leaves_all_or_nothing(session: Session, files: Path) -> None:
    for number in range(5):
        ref = f"END {number}"
        file = text_pdf(files / f"End {number}.pdf", f"End {number}.\n{PROSE}")
        job = session.start("ingest_document", file_path=str(file), application_ref=ref)
        job.wait_for_progress()
        job.cancel_if_running()
        again = ingest(session, file, ref)
        assert again["status"] in {"success", "already_ingested"}
        # The id is the plain one: an ingest that was given up does not hold it.
        assert len(again["document_id"]) == len(f"END_{number}_") + 6
        [listed] = list_documents(session, ref)
        assert len(chunks_of(session, listed["document_id"], ref)) == listed["chunk_count"]


def test_a_client_that_goes_away_is_as_good_as_a_cancel(
    session: Session, server: LocalServer, files: Path
) -> None:
    file = make_pdf(files / "Left alone.pdf", [Scan(PROSE)] * 4)
    arguments = {"file_path": str(file), "application_ref": "GONE"}
    with server.session("legacy") as other:
        job = other.start("ingest_document", **arguments)
        job.wait_for_progress()
        job.forget()
    assert ingest(session, file, "GONE")["status"] == "success"


@pytest.mark.slow
def test_neither_a_cancelled_ingest_nor_a_stopped_server_leaves_anything_on_the_disk(
    fresh_home: Home, files: Path
) -> None:
    # Longer than a server waits for calls under way when it is stopped.
    slow_scan = make_pdf(files / "Long report.pdf", [Scan("\n".join([PROSE] * 3))] * 60)
    with run_http(fresh_home) as server, server.session() as session:
        cancelled = session.start("ingest_document", file_path=str(slow_scan), application_ref="X")
        cancelled.wait_for_progress()
        cancelled.cancel()
        assert list_documents(session, "X") == []
        stopped = session.start("ingest_document", file_path=str(slow_scan), application_ref="Y")
        stopped.wait_for_progress()
        stopped.forget()
        assert server.stop() == 0
    with closing(open_store(StorePlace(fresh_home.path, fresh_home.path / "store"))) as store:
        assert not any(store.get(name) for name in store.collections())
