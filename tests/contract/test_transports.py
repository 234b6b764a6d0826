"""Each server as users start it, over each transport: a process of its own, with all its parts.

Over HTTP, the store is mirrored to Chroma, as it is unless a user says otherwise.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.contract.conftest import NewHome
from tests.contract.contracts import CONTRACTS
from tests.contract.document_store.asking import chunks_of, find, ingest_well, list_documents
from tests.contract.process import Home, HttpServer, read_note, run_http, run_stdio
from tests.contract.session import Session
from tests.documents import PROSE, Scan, make_pdf, text_pdf

HTTP = ["sse", "http", "http-legacy"]
"""`http-legacy` is Streamable HTTP before protocol 2026."""


@pytest.fixture(scope="module", params=CONTRACTS)
def name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def http_server(name: str, new_home: NewHome) -> Iterator[HttpServer]:
    command = (CONTRACTS[name].program, "--http", "--port", "0")
    with run_http(replace(new_home(), mirrored=True), command=command) as server:
        yield server


def check_session(name: str, session: Session, home: Home, folder: Path) -> None:
    """Use the tools of the contract, and look at what is listed beside them."""
    contract = CONTRACTS[name]
    assert set(session.tools) == contract.tools
    contract.converse(session, home, folder)
    tool, arguments, word = contract.wrong_arguments[0]
    assert word in contract.refusal(session.start(tool, **arguments).reply())
    for tool in contract.of_commands:
        message = contract.refusal(session.start(tool).reply())
        assert f"There is no tool '{tool}'" in message
    assert session.do(session.client.list_prompts).prompts
    assert session.do(session.client.list_resource_templates).resource_templates


@pytest.mark.parametrize("transport", HTTP)
def test_the_tools_work_over_http(
    name: str, http_server: HttpServer, transport: str, tmp_path: Path
) -> None:
    with http_server.session(transport) as session:
        check_session(name, session, http_server.home, tmp_path)


def test_the_tools_work_over_stdio(name: str, new_home: NewHome, tmp_path: Path) -> None:
    home = new_home()
    with run_stdio(home, {}, (CONTRACTS[name].program,)) as session:
        check_session(name, session, home, tmp_path)


def test_the_address_is_printed_and_noted_in_the_home(name: str, http_server: HttpServer) -> None:
    for path in ("mcp", "sse", "health"):
        assert f"{http_server.address}/{path}" in http_server.printed
    assert read_note(http_server.home)["addresses"] == {name: http_server.address}


# Below each server are the same transports, so one server shows what only they can do.


@pytest.fixture(scope="module", params=["stdio", *HTTP])
def transport(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def document_store(new_home: NewHome) -> Iterator[HttpServer]:
    with run_http(new_home()) as server:
        yield server


@pytest.fixture(scope="module")
def session(transport: str, request: pytest.FixtureRequest, new_home: NewHome) -> Iterator[Session]:
    if transport == "stdio":
        with run_stdio(new_home()) as session:
            yield session
        return
    server: HttpServer = request.getfixturevalue("document_store")
    with server.session(transport) as session:
        yield session


def test_progress_is_reported_for_each_page_and_only_grows(
    session: Session, transport: str, tmp_path: Path
) -> None:
    file = text_pdf(tmp_path / "long.pdf", *[f"Page {n}.\n{PROSE}" for n in range(1, 21)])
    job = session.start("ingest_document", file_path=str(file), application_ref=transport)
    assert job.result()["status"] == "success"
    done = [step for step, _, _ in job.progress]
    assert done[:20] == list(range(1, 21))
    assert done == sorted(set(done))
    assert {total for _, total, _ in job.progress} == {40}
    assert done[-1] == 40
    named = {message for _, _, message in job.progress[:20]}
    assert named == {f"read page {n} of 20 (text_layer)" for n in range(1, 21)}


def test_a_cancelled_ingest_leaves_no_trace_and_can_be_done_again(
    session: Session, transport: str, tmp_path: Path
) -> None:
    ref = f"cancelled/{transport}"
    slow_scan = make_pdf(tmp_path / "Scanned report.pdf", [Scan(PROSE)] * 4)
    job = session.start("ingest_document", file_path=str(slow_scan), application_ref=ref)
    job.wait_for_progress()
    job.cancel()
    assert list_documents(session, ref) == []
    assert find(session, "cycle parking", application_ref=ref) == []
    # Had the first one gone on, this would wait for it and find its document.
    answer = ingest_well(session, slow_scan, ref)
    assert len(chunks_of(session, answer["document_id"], ref)) == answer["chunks_created"]
    assert [d["document_id"] for d in list_documents(session, ref)] == [answer["document_id"]]
