"""Endpoints, methods, authentication and its log: everything below MCP.

The layer is shared with the Document Store, whose tests go further into who may call.
"""

import re
from collections.abc import Iterator

import pytest

from tests.contract.conftest import NewHome
from tests.contract.endpoints import (
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
from tests.contract.local import Shared
from tests.contract.policy_kb.asking import list_policies
from tests.contract.policy_kb.serving import Place
from tests.contract.process import HttpServer, read_note

MISSING = "Missing Authorization header"
WRONG_FORMAT = "Invalid Authorization header format, expected: Bearer <token>"
INVALID = "Invalid bearer token"
# What is sent, and what the spec has for it.
REFUSALS: dict[str, tuple[str | None, str]] = {
    "none": (None, MISSING),
    "a wrong token": (f"Bearer {WRONG_TOKEN}", INVALID),
    "the token and more": (f"Bearer {TOKEN}x", INVALID),
    "a part of the token": (f"Bearer {TOKEN[:-1]}", INVALID),
    "no token": ("Bearer", INVALID),
    "basic": ("Basic Y29ycmVjdC1ob3JzZTpiYXR0ZXJ5", WRONG_FORMAT),
    "basic with the token": (f"Basic {TOKEN}", WRONG_FORMAT),
    "digest": (f"Digest {TOKEN}", WRONG_FORMAT),
    "only the token": (TOKEN, WRONG_FORMAT),
    "an empty header": ("", WRONG_FORMAT),
}


@pytest.fixture(scope="module")
def locked(new_home: NewHome, shared: Shared) -> Iterator[HttpServer]:
    """A server with a token."""
    with Place(new_home(), shared).serve_http({"MCP_API_KEY": TOKEN}) as server:
        yield server


@pytest.fixture(scope="module")
def server(new_home: NewHome, shared: Shared) -> Iterator[HttpServer]:
    """A server whose token is empty."""
    with Place(new_home(), shared).serve_http({"MCP_API_KEY": ""}) as server:
        yield server


def test_the_address_is_printed_and_noted_in_the_home(server: HttpServer) -> None:
    for path in ("mcp", "sse", "health"):
        assert f"{server.address}/{path}" in server.printed
    assert read_note(server.home)["addresses"] == {"policy-kb": server.address}


def test_health_says_ok_and_nothing_else(server: HttpServer) -> None:
    response = server.request("GET", "/health")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})
    assert response.headers["content-type"] == "application/json"


@pytest.mark.parametrize("given", [None, f"Bearer {WRONG_TOKEN}", "Basic abc"])
def test_health_needs_no_token(locked: HttpServer, given: str | None) -> None:
    response = locked.request("GET", "/health", headers=authorization(given))
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize(("given", "message"), REFUSALS.values(), ids=REFUSALS.keys())
def test_each_of_the_three_refusals_has_its_message_on_every_endpoint(
    locked: HttpServer, given: str | None, message: str
) -> None:
    for method, path in ENDPOINTS:
        headers = JSON_RPC | authorization(given)
        response = locked.request(method, path, headers=headers, content="{}")
        assert response.status_code == 401
        assert response.headers["content-type"] == "application/json"
        assert response.json() == {"error": {"code": "unauthorized", "message": message}}


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
def test_the_token_is_let_through(locked: HttpServer, method: str, path: str, scheme: str) -> None:
    assert is_let_in(knock(locked, method, path, authorization(f"{scheme} {TOKEN}")))


@pytest.mark.parametrize("transport", ["sse", "http", "http-legacy"])
def test_a_client_with_the_token_is_served(locked: HttpServer, transport: str) -> None:
    with locked.session(transport, TOKEN) as session:
        assert list_policies(session) == []


@pytest.mark.parametrize("transport", ["sse", "http", "http-legacy"])
def test_an_empty_token_disables_authentication(server: HttpServer, transport: str) -> None:
    with server.session(transport, WRONG_TOKEN) as session:
        assert list_policies(session) == []


@pytest.mark.parametrize("given", [None, f"Bearer {WRONG_TOKEN}", "Basic abc"])
@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_a_refusal_is_logged_as_a_warning_with_ip_endpoint_and_method(
    locked: HttpServer, method: str, path: str, given: str | None
) -> None:
    before = len(locked.log)
    locked.request(method, path, headers=authorization(given))
    [line] = locked.log[before:].splitlines()
    assert line.startswith("WARNING ")
    assert re.search(r"\b127\.0\.0\.1\b", line)
    assert re.search(rf"\b{method}\b", line)
    assert path in line
    assert WRONG_TOKEN not in line


def test_the_token_is_never_logged(locked: HttpServer) -> None:
    for given in (TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN}"):
        locked.request("POST", "/mcp", headers=JSON_RPC | authorization(given), content="{}")
    assert TOKEN not in locked.log


def test_sse_opens_a_stream_that_names_the_message_endpoint(server: HttpServer) -> None:
    assert initialize_over_sse(server) == "policy-kb-mcp"


def test_mcp_takes_post_get_and_delete_through_a_session(server: HttpServer) -> None:
    assert "policy-kb-mcp" in go_through_a_session(server)


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/health"), ("POST", "/sse"), ("GET", "/messages/"), ("PUT", "/mcp")],
)
def test_other_methods_are_not_allowed(server: HttpServer, method: str, path: str) -> None:
    assert server.request(method, path, headers=JSON_RPC, content="{}").status_code == 405


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
    warnings = [line for line in server.log.splitlines() if line.startswith("WARNING")]
    assert any("MCP_API_KEY" in line for line in warnings)
