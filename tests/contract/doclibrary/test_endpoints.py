"""Endpoints, authentication, and who may call: everything below MCP.

The layer is shared with the other servers, whose tests go further. The contract is silent
about it; what is said here are the rules that hold for all of them.
"""

from collections.abc import Iterator

import pytest

from tests.contract.conftest import NewHome
from tests.contract.doclibrary.asking import slugs_of
from tests.contract.doclibrary.conftest import serve_http
from tests.contract.doclibrary.documents import APPENDICES, SURVEY
from tests.contract.endpoints import (
    BAD_AUTHORIZATIONS,
    ENDPOINTS,
    INITIALIZE,
    JSON_RPC,
    TOKEN,
    WRONG_TOKEN,
    authorization,
    go_through_a_session,
    initialize_over_sse,
    is_let_in,
    knock,
    listening_on,
)
from tests.contract.process import HttpServer, read_note

SLUGS = {APPENDICES, SURVEY}
UNAUTHORIZED = {
    "error": {"code": "unauthorized", "message": "Missing or invalid authentication token"}
}


@pytest.fixture(scope="module")
def server(new_library: NewHome) -> Iterator[HttpServer]:
    """A server without a token."""
    with serve_http(new_library()) as server:
        yield server


@pytest.fixture(scope="module")
def locked(new_library: NewHome) -> Iterator[HttpServer]:
    """A server with a token."""
    with serve_http(new_library(), {"MCP_API_KEY": TOKEN}) as server:
        yield server


def test_the_address_is_printed_and_noted_in_the_home(server: HttpServer) -> None:
    for path in ("mcp", "sse", "health"):
        assert f"{server.address}/{path}" in server.printed
    assert read_note(server.home)["addresses"] == {"doclibrary": server.address}


def test_health_needs_no_token_and_says_ok(locked: HttpServer) -> None:
    response = locked.request("GET", "/health")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize("given", BAD_AUTHORIZATIONS.values(), ids=BAD_AUTHORIZATIONS.keys())
def test_every_endpoint_refuses_what_is_not_the_token(
    locked: HttpServer, given: str | None
) -> None:
    for method, path in ENDPOINTS:
        headers = JSON_RPC | authorization(given)
        response = locked.request(method, path, headers=headers, content="{}")
        assert (response.status_code, response.json()) == (401, UNAUTHORIZED)
    assert TOKEN not in locked.log


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_the_token_is_let_through(locked: HttpServer, method: str, path: str) -> None:
    assert is_let_in(knock(locked, method, path, authorization(f"bearer {TOKEN}")))


@pytest.mark.parametrize("transport", ["sse", "http", "http-legacy"])
def test_a_client_is_served_with_the_token_or_where_there_is_none(
    locked: HttpServer, server: HttpServer, transport: str
) -> None:
    with locked.session(transport, TOKEN) as session:
        assert slugs_of(session) == SLUGS
    with server.session(transport, WRONG_TOKEN) as session:
        assert slugs_of(session) == SLUGS


def test_both_transports_are_spoken(server: HttpServer) -> None:
    assert initialize_over_sse(server) == "doclibrary"
    assert "doclibrary" in go_through_a_session(server)


@pytest.mark.parametrize(("header", "status"), [("Host", 421), ("Origin", 403)])
def test_a_foreign_name_is_refused(server: HttpServer, header: str, status: int) -> None:
    value = "rebound.example.com" if header == "Host" else "https://rebound.example.com"
    headers = JSON_RPC | {header: value}
    response = server.request("POST", "/mcp", headers=headers, content=INITIALIZE)
    assert response.status_code == status


def test_with_a_token_the_network_is_served_and_without_one_only_this_machine(
    locked: HttpServer, server: HttpServer
) -> None:
    assert listening_on(locked) == {"0.0.0.0"}
    assert listening_on(server) == {"127.0.0.1"}
