"""The core of the contract over each transport that it names, and over stdio."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from quinion.store.policies import PolicyRegistry
from tests.contract.policy_kb.asking import (
    find,
    found_on,
    ingest,
    ingest_well,
    list_policies,
    list_revisions,
    read,
    refusal,
    remove,
    revise,
)
from tests.contract.policy_kb.conftest import NewPlace, register
from tests.contract.policy_kb.policies import leaflet, leaflet_paragraph, scanned
from tests.contract.policy_kb.serving import Place
from tests.contract.process import HttpServer
from tests.contract.session import Session

TOOLS = {
    *("search_policy", "get_policy_section", "list_policy_documents", "list_policy_revisions"),
    *("ingest_policy_revision", "remove_policy_revision"),
}


@pytest.fixture(scope="module", params=["stdio", "sse", "http", "http-legacy"])
def transport(request: pytest.FixtureRequest) -> str:
    """What a client speaks; `http-legacy` is Streamable HTTP before protocol 2026."""
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def shared_place(new_place: NewPlace) -> Place:
    """The home of a server in a process of its own, for the tests of this file."""
    return new_place("sqlite")


@pytest.fixture(scope="module")
def server(shared_place: Place) -> Iterator[HttpServer]:
    with shared_place.serve_http() as server:
        yield server


@pytest.fixture(scope="module")
def place(transport: str, new_place: NewPlace, request: pytest.FixtureRequest) -> Place:
    """The server's home; a process on stdio has one of its own."""
    if transport == "stdio":
        return new_place("sqlite")
    shared: Place = request.getfixturevalue("shared_place")
    return shared


@pytest.fixture(scope="module")
def session(transport: str, place: Place, request: pytest.FixtureRequest) -> Iterator[Session]:
    if transport == "stdio":
        with place.serve_stdio() as session:
            yield session
        return
    server: HttpServer = request.getfixturevalue("server")
    with server.session(transport) as session:
        yield session


@pytest.fixture(scope="module")
def registry(place: Place) -> Iterator[PolicyRegistry]:
    with place.registry() as registry:
        yield registry


@pytest.fixture
def revision(registry: PolicyRegistry) -> tuple[str, str]:
    """A policy of the test's own and its only revision."""
    source = register(registry)
    return source, revise(registry, source, "December 2024", date(2024, 12, 12))


def test_all_six_tools_are_offered(session: Session) -> None:
    assert set(session.tools) == TOOLS


def test_a_revision_is_ingested_found_read_listed_and_removed(
    session: Session, revision: tuple[str, str], tmp_path: Path
) -> None:
    source, revision_id = revision
    assert ingest_well(session, *revision, leaflet(tmp_path / "a.pdf", "A"))["page_count"] == 2
    [hit] = find(
        session,
        "who looks after hedges?",
        sources=[source],
        effective_date="2025-01-01",
        n_results=1,
    )
    assert (hit["revision_id"], hit["version_label"]) == (revision_id, "December 2024")
    assert found_on(session, source, "2024-12-11") == set()
    answer = read(session, source, "Para 1.2")
    assert answer["text"] == leaflet_paragraph(2, "A")
    assert answer["page_numbers"] == [2]
    assert source in [policy["source"] for policy in list_policies(session)]
    [listed] = list_revisions(session, source)
    assert (listed["status"], listed["chunk_count"]) == ("active", 5)
    assert remove(session, *revision) == 5
    assert found_on(session, source, None) == set()


def test_an_error_wears_the_envelope(session: Session, revision: tuple[str, str]) -> None:
    answer = session.call("search_policy", query="hedges", effective_date="15/03/2024")
    refusal(answer, "invalid_date")
    refusal(ingest(session, *revision, "/nothing/here.pdf"), "file_not_found")


def test_a_wrong_argument_wears_the_envelope(session: Session) -> None:
    refusal(session.call("search_policy", query="hedges", n_results=0), "invalid_input")


def test_progress_is_reported_and_a_cancelled_ingest_leaves_no_trace(
    session: Session, revision: tuple[str, str], tmp_path: Path
) -> None:
    source, revision_id = revision
    scan = scanned(tmp_path / "scan.pdf", 3)
    job = session.start(
        "ingest_policy_revision", source=source, revision_id=revision_id, file_path=str(scan)
    )
    job.wait_for_progress()
    job.cancel()
    assert job.progress[0][:2] == (1, 6)
    assert found_on(session, source, None) == set()
    # Had the first one gone on, this would wait for it.
    ingest_well(session, *revision, leaflet(tmp_path / "a.pdf", "A"))
    assert list_revisions(session, source)[0]["chunk_count"] == 5
