"""Endpoints, methods, authentication, and who may call: everything below MCP.

All servers share this layer, so three processes run all of them: one with a token, one without,
and one whose token is empty. What a contract words in its own way is checked for each server;
the rest is checked for one.
"""

import http.client
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from quinion.settings import Settings
from tests.contract.conftest import NewHome
from tests.contract.contracts import CONTRACTS
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
from tests.contract.process import Home, HttpServer, Variables, read_note, run_http

ALLOWED_HOST = "documents.example.org"

ONE = "document-store"
"""The server that stands for all."""
UNAUTHORIZED = {"error": {"code": "unauthorized", "message": CONTRACTS[ONE].refusals["none"][1]}}
REFUSALS = [
    pytest.param(name, given, message, id=f"{name}-{case}")
    for name, one in CONTRACTS.items()
    for case, (given, message) in one.refusals.items()
]


Served = dict[str, HttpServer]
"""All servers in one process, by name."""


@contextmanager
def serve_all(home: Home, variables: Variables) -> Iterator[Served]:
    """Run all servers in one process."""
    ports = {Settings.variable(f"{name.replace('-', '_')}_port"): "0" for name in CONTRACTS}
    with run_http(home, {**ports, **variables}, ("quinion", "serve", "--no-console")) as first:
        addresses = read_note(home)["addresses"]
        assert isinstance(addresses, dict)
        assert set(addresses) == set(CONTRACTS)
        yield {name: replace(first, address=address) for name, address in addresses.items()}


@pytest.fixture(scope="module")
def all_locked(new_home: NewHome) -> Iterator[Served]:
    """Servers with a token."""
    variables = {"MCP_API_KEY": TOKEN, "QUINION_ALLOWED_HOSTS": f"other.example, {ALLOWED_HOST}"}
    with serve_all(new_home(), variables) as servers:
        yield servers


@pytest.fixture(scope="module")
def all_open(new_home: NewHome) -> Iterator[Served]:
    """Servers without a token."""
    with serve_all(new_home(), {}) as servers:
        yield servers


@pytest.fixture(scope="module")
def unlocked(new_home: NewHome) -> Iterator[HttpServer]:
    """A server whose token is empty, and that may be called by any name."""
    with run_http(new_home(), {"MCP_API_KEY": "", "QUINION_ALLOWED_HOSTS": "*"}) as server:
        yield server


@pytest.fixture(scope="module")
def locked(all_locked: Served) -> HttpServer:
    return all_locked[ONE]


@pytest.fixture(scope="module")
def server(all_open: Served) -> HttpServer:
    return all_open[ONE]


@pytest.mark.parametrize("name", CONTRACTS)
def test_health_needs_no_token_and_says_ok_and_nothing_else(
    all_locked: Served, all_open: Served, name: str
) -> None:
    for server in (all_locked[name], all_open[name]):
        response = server.request("GET", "/health")
        assert response.status_code == 200
        assert response.headers["content-type"] == "application/json"
        assert response.json() == {"status": "ok"}


@pytest.mark.parametrize(("name", "given", "message"), REFUSALS)
def test_each_endpoint_refuses_what_is_not_the_token_in_the_words_of_the_contract(
    all_locked: Served, name: str, given: str | None, message: str
) -> None:
    locked = all_locked[name]
    for method, path in ENDPOINTS:
        headers = JSON_RPC | authorization(given)
        response = locked.request(method, path, headers=headers, content="{}")
        assert response.status_code == 401
        assert response.headers["content-type"] == "application/json"
        assert response.json() == {"error": {"code": "unauthorized", "message": message}}
    assert TOKEN not in locked.log


@pytest.mark.parametrize("name", CONTRACTS)
def test_each_endpoint_takes_the_token(all_locked: Served, name: str) -> None:
    for method, path in ENDPOINTS:
        assert is_let_in(knock(all_locked[name], method, path, authorization(f"Bearer {TOKEN}")))


@pytest.mark.parametrize("transport", ["sse", "http", "http-legacy"])
@pytest.mark.parametrize("name", CONTRACTS)
def test_a_client_is_served_with_the_token_or_where_there_is_none(
    all_locked: Served, all_open: Served, name: str, transport: str
) -> None:
    for server, token in ((all_locked[name], TOKEN), (all_open[name], WRONG_TOKEN)):
        with server.session(transport, token) as session:
            assert set(session.tools) == CONTRACTS[name].tools
            tool, arguments, word = CONTRACTS[name].wrong_arguments[0]
            answer = session.start(tool, **arguments).reply()
            assert word in CONTRACTS[name].refusal(answer)


@pytest.mark.parametrize("name", CONTRACTS)
def test_sse_opens_a_stream_that_names_the_message_endpoint(all_open: Served, name: str) -> None:
    assert initialize_over_sse(all_open[name]) == CONTRACTS[name].calls_itself


@pytest.mark.parametrize("name", CONTRACTS)
def test_mcp_takes_post_get_and_delete_through_a_session(all_open: Served, name: str) -> None:
    assert CONTRACTS[name].calls_itself in go_through_a_session(all_open[name])


@pytest.mark.parametrize(("header", "status"), [("Host", 421), ("Origin", 403)])
@pytest.mark.parametrize("name", CONTRACTS)
def test_a_foreign_name_is_refused(all_open: Served, name: str, header: str, status: int) -> None:
    value = "rebound.example.com" if header == "Host" else "https://rebound.example.com"
    headers = JSON_RPC | {header: value}
    response = all_open[name].request("POST", "/mcp", headers=headers, content=INITIALIZE)
    assert response.status_code == status


@pytest.mark.parametrize("given", [None, f"Bearer {WRONG_TOKEN}", "Basic abc"])
def test_health_needs_no_token(locked: HttpServer, given: str | None) -> None:
    response = locked.request("GET", "/health", headers=authorization(given))
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_an_endpoint_lets_the_token_through_whatever_the_case_of_bearer(
    locked: HttpServer, method: str, path: str, scheme: str
) -> None:
    assert is_let_in(knock(locked, method, path, authorization(f"{scheme} {TOKEN}")))


def test_a_token_in_the_address_is_not_taken(locked: HttpServer) -> None:
    response = locked.request("POST", f"/mcp?token={TOKEN}&access_token={TOKEN}", headers=JSON_RPC)
    assert response.status_code == 401
    assert TOKEN not in locked.log


@pytest.mark.parametrize(
    "path", ["/health/", "//health", "/HEALTH", "/health/../mcp", "/health%2f", "/", "/nowhere"]
)
def test_nothing_but_health_itself_is_open(locked: HttpServer, path: str) -> None:
    # Not with httpx2, which would tidy the path up before it sends it.
    connection = http.client.HTTPConnection(urlsplit(locked.address).netloc, timeout=10)
    connection.request("GET", path)
    response = connection.getresponse()
    assert response.status == 401
    assert json.load(response) == UNAUTHORIZED
    connection.close()


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


def test_no_token_is_ever_logged(locked: HttpServer) -> None:
    locked.request("GET", "/mcp", headers=authorization(f"Bearer {WRONG_TOKEN}"))
    locked.request("GET", "/mcp", headers=authorization(WRONG_TOKEN))
    locked.request("GET", "/mcp", headers=JSON_RPC | authorization(f"Bearer {TOKEN}"))
    assert "WARNING" in locked.log
    assert TOKEN not in locked.log
    assert WRONG_TOKEN not in locked.log


def test_a_refused_path_cannot_forge_a_line_of_the_log(locked: HttpServer) -> None:
    before = len(locked.log)
    locked.request("GET", "/mcp%0AERROR%20forged:%20all%20is%20lost%1b[2J")
    [line] = locked.log[before:].splitlines()
    assert line.startswith("WARNING ")
    assert "\x1b" not in line


@pytest.mark.parametrize("given", [None, f"Bearer {WRONG_TOKEN}", "Basic abc"])
@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_an_empty_token_disables_authentication(
    unlocked: HttpServer, method: str, path: str, given: str | None
) -> None:
    assert is_let_in(knock(unlocked, method, path, authorization(given)))


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/health"),
        ("POST", "/sse"),
        ("DELETE", "/sse"),
        ("GET", "/messages/"),
        ("PUT", "/mcp"),
        ("PATCH", "/mcp"),
    ],
)
def test_other_methods_are_not_allowed(server: HttpServer, method: str, path: str) -> None:
    assert server.request(method, path, headers=JSON_RPC, content="{}").status_code == 405


def test_other_paths_are_not_found(server: HttpServer) -> None:
    assert server.request("GET", "/nowhere").status_code == 404


def test_a_message_without_a_session_is_refused(server: HttpServer) -> None:
    assert server.request("POST", "/messages/", headers=JSON_RPC).status_code == 400
    unknown = f"/messages/?session_id={'0' * 32}"
    assert server.request("POST", unknown, headers=JSON_RPC).status_code == 404


def test_a_message_over_four_megabytes_is_refused(server: HttpServer) -> None:
    response = server.request("POST", "/mcp", headers=JSON_RPC, content=" " * (4 << 20) + "{}")
    assert response.status_code == 413


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_a_foreign_host_name_is_misdirected(server: HttpServer, method: str, path: str) -> None:
    headers = JSON_RPC | {"Host": "rebound.example.com"}
    assert server.request(method, path, headers=headers, content="{}").status_code == 421


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_a_foreign_origin_is_forbidden(server: HttpServer, method: str, path: str) -> None:
    headers = JSON_RPC | {"Origin": "https://evil.example.com"}
    assert server.request(method, path, headers=headers, content="{}").status_code == 403


def test_a_foreign_host_name_leaves_no_traceback_in_the_log(server: HttpServer) -> None:
    before = len(server.log)
    server.request("GET", "/sse", headers={"Host": "rebound.example.com"})
    assert "Traceback" not in server.log[before:]


@pytest.mark.parametrize("host", ["localhost", "localhost:1234", "127.0.0.1", "[::1]:9"])
def test_this_machine_may_be_called_by_its_own_names(server: HttpServer, host: str) -> None:
    for headers in ({"Host": host}, {"Origin": f"http://{host}"}):
        response = server.request("POST", "/mcp", headers=JSON_RPC | headers, content=INITIALIZE)
        assert response.status_code == 200


@pytest.mark.parametrize("headers", [{"Host": ALLOWED_HOST}, {"Origin": f"https://{ALLOWED_HOST}"}])
def test_allowed_hosts_are_served(
    locked: HttpServer, server: HttpServer, headers: dict[str, str]
) -> None:
    sent = JSON_RPC | headers | authorization(f"Bearer {TOKEN}")
    assert locked.request("POST", "/mcp", headers=sent, content=INITIALIZE).status_code == 200
    refused = server.request("POST", "/mcp", headers=sent, content=INITIALIZE)
    assert refused.status_code in {421, 403}


def test_a_star_among_the_allowed_hosts_serves_any_name(unlocked: HttpServer) -> None:
    headers = JSON_RPC | {"Host": "any.example.com", "Origin": "https://any.example.com"}
    response = unlocked.request("POST", "/mcp", headers=headers, content=INITIALIZE)
    assert response.status_code == 200


def test_without_a_token_only_this_machine_is_served_and_that_is_said(
    server: HttpServer,
) -> None:
    assert listening_on(server) == {"127.0.0.1"}
    warnings = [line for line in server.log.splitlines() if line.startswith("WARNING")]
    assert any("MCP_API_KEY" in line for line in warnings)


def test_with_a_token_the_network_is_served(locked: HttpServer) -> None:
    assert listening_on(locked) == {"0.0.0.0"}
