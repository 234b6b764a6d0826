"""Starting a server: where it listens, when it refuses, and beside whom it works."""

import json
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from quinion.model.policy import PolicyCategory, PolicyDraft
from quinion.store.policies import PolicyRegistry
from tests.contract.local import Shared
from tests.contract.policy_kb.asking import (
    find,
    found_on,
    ingest,
    ingest_well,
    list_revisions,
    refusal,
    revise,
)
from tests.contract.policy_kb.conftest import NewPlace
from tests.contract.policy_kb.policies import leaflet, scanned
from tests.contract.policy_kb.serving import AGREE, Place
from tests.contract.process import Home, HttpServer, free_port, read_note
from tests.contract.session import Session, open_session
from tests.documents import PROSE, text_pdf

pytestmark = pytest.mark.slow

WRONG_USE, BAD_SETTING, HOME_IN_USE = 2, 3, 4
QUICK_S = 3.0
"""Much more than an answer takes, and less than the ingest beside it."""
NPPF = PolicyDraft("NPPF", "National Planning Policy Framework", PolicyCategory.NATIONAL_POLICY)


@pytest.fixture
def place(fresh_home: Home, shared: Shared) -> Place:
    return Place(fresh_home, shared)


ON_HTTP = ("--http", "--port", "0")


def test_a_registry_that_is_damaged_is_named_and_nothing_is_overwritten(place: Place) -> None:
    file = place.home.path / "policies.db"
    file.write_bytes(b"not a database, but somebody's only copy " * 100)
    before = file.read_bytes()
    for arguments in (ON_HTTP, ()):
        ended = place.run(*arguments, program="policy-kb-mcp")
        assert ended.returncode == 1, ended.stderr
        assert str(file) in ended.stderr.splitlines()[-1]
        assert "Traceback" not in ended.stderr
    assert file.read_bytes() == before


def test_both_servers_in_one_process_listen_on_their_ports_and_work_on_one_home(
    place: Place, tmp_path: Path
) -> None:
    ports = {"DOCUMENT_STORE_PORT": str(free_port()), "POLICY_KB_PORT": str(free_port())}
    command = ("quinion", "serve", "document-store", "policy-kb")
    with place.serve_http(ports, command) as server, place.registry() as registry:
        addresses = read_note(place.home)["addresses"]
        assert isinstance(addresses, dict)
        assert addresses == {
            "document-store": f"http://127.0.0.1:{ports['DOCUMENT_STORE_PORT']}",
            "policy-kb": f"http://127.0.0.1:{ports['POLICY_KB_PORT']}",
        }
        assert server.address == addresses["document-store"]
        registry.create_policy(NPPF)
        revision_id = revise(registry, "NPPF", "A", date(2020, 1, 1))
        with (
            open_session(f"{addresses['document-store']}/mcp") as documents,
            open_session(f"{addresses['policy-kb']}/mcp") as policies,
        ):
            assert set(documents.tools).isdisjoint(policies.tools)
            letter = text_pdf(tmp_path / "letter.pdf", PROSE)
            answer = documents.call(
                "ingest_document", file_path=str(letter), application_ref="25/00001/FUL"
            )
            assert answer["status"] == "success"
            ingest_well(policies, "NPPF", revision_id, leaflet(tmp_path / "a.pdf", "A"))
            # Neither finds what is the other's.
            assert {r["source"] for r in find(policies, "cycle parking")} == {"NPPF"}
            found = documents.call("search_application_docs", query="hedges")
            assert found["results_count"] == 1
    assert place.check() == AGREE


def test_port_needs_the_name_of_one_server(place: Place) -> None:
    ended = place.run("serve", "--port", "0")
    assert ended.returncode == WRONG_USE


def test_a_port_that_no_machine_has_is_refused(place: Place) -> None:
    ended = place.run("--http", "--port", "70000", program="policy-kb-mcp")
    assert ended.returncode in {WRONG_USE, BAD_SETTING}
    assert "70000" in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr


def test_nothing_is_read_outside_of_the_read_roots(place: Place, tmp_path: Path) -> None:
    inside, outside = tmp_path / "policies", tmp_path / "policies and more"
    for folder in (inside, outside):
        folder.mkdir()
        leaflet(folder / "a.pdf", folder.name)
    (inside / "way out.pdf").symlink_to(outside / "a.pdf")
    variables = {"QUINION_READ_ROOTS": str(inside), "REDIS_URL": ""}
    with place.serve_stdio(variables) as session, place.registry() as registry:
        registry.create_policy(NPPF)
        one = "NPPF", revise(registry, "NPPF", "A", date(2020, 1, 1))
        missing = refusal(ingest(session, *one, inside / "none.pdf"), "file_not_found")
        for path in (outside / "a.pdf", inside / "way out.pdf", inside / ".." / "x.pdf"):
            message = refusal(ingest(session, *one, path), "file_not_found")
            expected = missing.replace(str(inside / "none.pdf"), str(path))
            assert message == expected
        ingest_well(session, *one, inside / "a.pdf")
    # An empty REDIS_URL is as good as none.
    assert (place.home.path / "policies.db").is_file()


# What other processes do on a home that a server has.


@pytest.fixture(scope="module")
def shared_place(new_place: NewPlace) -> Place:
    """The home of a server in a process of its own, for the tests of this file."""
    return new_place("sqlite")


@pytest.fixture(scope="module")
def server(shared_place: Place) -> Iterator[HttpServer]:
    with shared_place.serve_http() as server:
        yield server


@pytest.fixture(scope="module")
def session(server: HttpServer) -> Iterator[Session]:
    with server.session() as session:
        yield session


@pytest.fixture(scope="module")
def registry(shared_place: Place) -> Iterator[PolicyRegistry]:
    with shared_place.registry() as registry:
        yield registry


def test_health_and_searches_answer_during_a_long_ingest(
    server: HttpServer, session: Session, registry: PolicyRegistry, source: str, tmp_path: Path
) -> None:
    find(session, "anything")
    job = session.start(
        "ingest_policy_revision",
        source=source,
        revision_id=revise(registry, source, "A", date(2020, 1, 1)),
        file_path=str(scanned(tmp_path / "Scanned policy.pdf", 5, 8)),
    )
    job.wait_for_progress()
    begun = time.monotonic()
    assert server.request("GET", "/health").json() == {"status": "ok"}
    find(session, "cycle parking", effective_date="2024-03-15")
    assert time.monotonic() - begun < QUICK_S
    assert job.is_running
    job.cancel()


def test_a_second_process_on_stdio_passes_calls_on(
    shared_place: Place, server: HttpServer, session: Session, source: str, tmp_path: Path
) -> None:
    with shared_place.registry() as registry:
        revision_id = revise(registry, source, "A", date(2020, 1, 1))
    with shared_place.serve_stdio() as relayed:
        ingest_well(relayed, source, revision_id, leaflet(tmp_path / "a.pdf", "A"))
        assert list_revisions(relayed, source) == list_revisions(session, source)
        answer = relayed.call("search_policy", query="x", effective_date="20240315")
        refusal(answer, "invalid_date")
    assert server.request("GET", "/health").status_code == 200


def test_the_command_line_works_through_the_server(
    shared_place: Place, session: Session, source: str, tmp_path: Path
) -> None:
    def run(*arguments: str) -> str:
        ended = shared_place.run("policy", *arguments)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    file = str(leaflet(tmp_path / "a.pdf", "A"))
    run("revise", source, "--label", "A", "--from", "2020-01-01", "--file", file)
    a = f"rev_{source}_2020_01"
    assert found_on(session, source, "2024-03-15") == {a}
    run("revise", source, "--label", "B", "--from", "2024-01-01")
    # The running server has followed by the time of its next search.
    assert found_on(session, source, "2024-03-15") == set()
    assert found_on(session, source, "2023-12-31") == {a}
    answer = json.loads(run("remove", source, a, "--yes", "--json"))
    assert answer["chunks_removed"] == 5
    assert found_on(session, source, None) == set()


def test_the_check_works_through_the_server(shared_place: Place, server: HttpServer) -> None:
    ended = shared_place.run("policy", "check")
    assert (ended.returncode, ended.stdout.strip()) == (0, AGREE), ended.stderr


def test_a_second_http_server_is_refused(shared_place: Place, server: HttpServer) -> None:
    ended = shared_place.run("--http", "--port", "0", program="policy-kb-mcp")
    assert ended.returncode == HOME_IN_USE
    assert str(server.process.pid) in ended.stderr.splitlines()[-1]


def test_whoever_has_the_home_serves_this_one_too(place: Place, tmp_path: Path) -> None:
    file = leaflet(tmp_path / "a.pdf", "A")
    with place.registry() as registry:
        registry.create_policy(NPPF)
    with place.serve_http(command=("document-store-mcp", "--http", "--port", "0")):
        ended = place.run(
            *("policy", "revise", "NPPF", "--label", "A", "--from", "2020-01-01"),
            *("--file", str(file)),
        )
    assert ended.returncode == 0, ended.stderr
    assert "5 chunks" in ended.stdout
