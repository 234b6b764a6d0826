"""The core of the contract over each transport that it names, and over stdio."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.conftest import NewHome
from tests.contract.document_store.asking import (
    chunks_of,
    find,
    ingest,
    ingest_well,
    list_documents,
    read_text,
    refusal,
)
from tests.contract.process import HttpServer, run_stdio
from tests.contract.session import Session
from tests.documents import PROSE, Scan, make_pdf, text_pdf


@pytest.fixture(scope="module", params=["stdio", "sse", "http", "http-legacy"])
def transport(request: pytest.FixtureRequest) -> str:
    """What a client speaks; `http-legacy` is Streamable HTTP before protocol 2026."""
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def session(transport: str, request: pytest.FixtureRequest, new_home: NewHome) -> Iterator[Session]:
    if transport == "stdio":
        with run_stdio(new_home()) as session:
            yield session
        return
    server: HttpServer = request.getfixturevalue("http_server")
    with server.session(transport) as session:
        yield session


@pytest.fixture
def ref(transport: str, request: pytest.FixtureRequest) -> str:
    """An application of each test's own: the transports share a home."""
    return f"{transport}/{request.node.originalname}"


@pytest.fixture(scope="module")
def slow_scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A document whose pages take a while, one by one."""
    folder = tmp_path_factory.mktemp("scans")
    return make_pdf(folder / "Scanned report.pdf", [Scan(PROSE)] * 4)


def test_all_four_tools_are_offered(session: Session) -> None:
    assert set(session.tools) == {
        "ingest_document",
        "search_application_docs",
        "get_document_text",
        "list_ingested_documents",
    }


def test_a_document_is_ingested_found_read_and_listed(
    session: Session, ref: str, tmp_path: Path
) -> None:
    file = text_pdf(tmp_path / "Transport Assessment.pdf", PROSE)
    answer = ingest_well(session, file, ref)
    [hit] = find(session, "where can bikes be left?", application_ref=ref)
    assert hit["metadata"]["document_id"] == answer["document_id"]
    assert hit["text"] == PROSE
    assert read_text(session, answer["document_id"]) == PROSE
    [listed] = list_documents(session, ref)
    assert listed["document_id"] == answer["document_id"]
    assert listed["file_path"] == str(file)


def test_an_error_wears_the_envelope(session: Session, tmp_path: Path) -> None:
    refusal(ingest(session, tmp_path / "nothing here.pdf"), "file_not_found")


def test_a_wrong_argument_wears_the_envelope(session: Session) -> None:
    refusal(session.call("search_application_docs", query="", max_results=0), "invalid_input")


def test_progress_is_reported_for_each_page_and_only_grows(
    session: Session, ref: str, tmp_path: Path
) -> None:
    file = text_pdf(tmp_path / "long.pdf", *[f"Page {n}.\n{PROSE}" for n in range(1, 21)])
    job = session.start("ingest_document", file_path=str(file), application_ref=ref)
    assert job.result()["status"] == "success"
    done = [step for step, _, _ in job.progress]
    assert done[:20] == list(range(1, 21))
    assert done == sorted(set(done))
    assert {total for _, total, _ in job.progress} == {40}
    assert done[-1] == 40
    named = {message for _, _, message in job.progress[:20]}
    assert named == {f"read page {n} of 20 (text_layer)" for n in range(1, 21)}


def test_a_cancelled_ingest_leaves_no_trace_and_can_be_done_again(
    session: Session, ref: str, slow_scan: Path
) -> None:
    job = session.start("ingest_document", file_path=str(slow_scan), application_ref=ref)
    job.wait_for_progress()
    job.cancel()
    assert list_documents(session, ref) == []
    assert find(session, "cycle parking", application_ref=ref) == []
    # Had the first one gone on, this would wait for it and find its document.
    answer = ingest_well(session, slow_scan, ref)
    assert len(chunks_of(session, answer["document_id"], ref)) == answer["chunks_created"]
    assert [d["document_id"] for d in list_documents(session, ref)] == [answer["document_id"]]


def test_characters_of_any_script_arrive_as_they_were_sent(session: Session) -> None:
    query = 'café “naïve” Ωμέγα 図面 🚲 \\ " / \n tab\t.'
    answer = session.call("search_application_docs", query=query)
    assert answer["query"] == query
