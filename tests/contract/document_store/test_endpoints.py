"""Endpoints, methods, authentication, and who may call: everything below MCP."""

import http.client
import json
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.contract.conftest import NewHome
from tests.contract.document_store.asking import list_documents
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
from tests.contract.process import HttpServer, read_note, run_http

ALLOWED_HOST = "documents.example.org"

UNAUTHORIZED = {
    "error": {"code": "unauthorized", "message": "Missing or invalid authentication token"}
}


@pytest.fixture(scope="module")
def locked(new_home: NewHome) -> Iterator[HttpServer]:
    """A server with a token."""
    variables = {"MCP_API_KEY": TOKEN, "QUINION_ALLOWED_HOSTS": f"other.example, {ALLOWED_HOST}"}
    with run_http(new_home(), variables) as server:
        yield server


@pytest.fixture(scope="module")
def unlocked(new_home: NewHome) -> Iterator[HttpServer]:
    """A server whose token is empty, and that may be called by any name."""
    with run_http(new_home(), {"MCP_API_KEY": "", "QUINION_ALLOWED_HOSTS": "*"}) as server:
        yield server


def test_the_address_is_printed_and_noted_in_the_home(http_server: HttpServer) -> None:
    assert f"{http_server.address}/mcp" in http_server.printed
    assert f"{http_server.address}/sse" in http_server.printed
    assert f"{http_server.address}/health" in http_server.printed
    assert read_note(http_server.home)["addresses"] == {"document-store": http_server.address}


def test_health_says_ok_and_nothing_else(http_server: HttpServer) -> None:
    response = http_server.request("GET", "/health")
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json() == {"status": "ok"}


@pytest.mark.parametrize("given", [None, f"Bearer {WRONG_TOKEN}", "Basic abc"])
def test_health_needs_no_token(locked: HttpServer, given: str | None) -> None:
    response = locked.request("GET", "/health", headers=authorization(given))
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize("given", BAD_AUTHORIZATIONS.values(), ids=BAD_AUTHORIZATIONS.keys())
@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_an_endpoint_refuses_what_is_not_the_token(
    locked: HttpServer, method: str, path: str, given: str | None
) -> None:
    response = locked.request(method, path, headers=JSON_RPC | authorization(given), content="{}")
    assert response.status_code == 401
    assert response.headers["content-type"] == "application/json"
    assert response.json() == UNAUTHORIZED


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_an_endpoint_lets_the_token_through_whatever_the_case_of_bearer(
    locked: HttpServer, method: str, path: str, scheme: str
) -> None:
    assert is_let_in(knock(locked, method, path, authorization(f"{scheme} {TOKEN}")))


@pytest.mark.parametrize("transport", ["sse", "http", "http-legacy"])
def test_a_client_with_the_token_is_served(locked: HttpServer, transport: str) -> None:
    with locked.session(transport, TOKEN) as session:
        assert list_documents(session, "nothing yet") == []


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


@pytest.mark.parametrize("transport", ["sse", "http", "http-legacy"])
def test_without_a_token_any_client_is_served(http_server: HttpServer, transport: str) -> None:
    with http_server.session(transport, WRONG_TOKEN) as session:
        assert list_documents(session, "nothing yet") == []


def test_sse_opens_a_stream_that_names_the_message_endpoint(http_server: HttpServer) -> None:
    assert initialize_over_sse(http_server) == "document-store-mcp"


def test_mcp_takes_post_get_and_delete_through_a_session(http_server: HttpServer) -> None:
    assert "document-store-mcp" in go_through_a_session(http_server)


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
def test_other_methods_are_not_allowed(http_server: HttpServer, method: str, path: str) -> None:
    assert http_server.request(method, path, headers=JSON_RPC, content="{}").status_code == 405


def test_other_paths_are_not_found(http_server: HttpServer) -> None:
    assert http_server.request("GET", "/nowhere").status_code == 404


def test_a_message_without_a_session_is_refused(http_server: HttpServer) -> None:
    assert http_server.request("POST", "/messages/", headers=JSON_RPC).status_code == 400
    unknown = f"/messages/?session_id={'0' * 32}"
    assert http_server.request("POST", unknown, headers=JSON_RPC).status_code == 404


def test_a_message_over_four_megabytes_is_refused(http_server: HttpServer) -> None:
    response = http_server.request("POST", "/mcp", headers=JSON_RPC, content=" " * (4 << 20) + "{}")
    assert response.status_code == 413


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_a_foreign_host_name_is_misdirected(
    http_server: HttpServer, method: str, path: str
) -> None:
    headers = JSON_RPC | {"Host": "rebound.example.com"}
    assert http_server.request(method, path, headers=headers, content="{}").status_code == 421


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_a_foreign_origin_is_forbidden(http_server: HttpServer, method: str, path: str) -> None:
    headers = JSON_RPC | {"Origin": "https://evil.example.com"}
    assert http_server.request(method, path, headers=headers, content="{}").status_code == 403


def test_a_foreign_host_name_leaves_no_traceback_in_the_log(http_server: HttpServer) -> None:
    before = len(http_server.log)
    http_server.request("GET", "/sse", headers={"Host": "rebound.example.com"})
    assert "Traceback" not in http_server.log[before:]


@pytest.mark.parametrize("host", ["localhost", "localhost:1234", "127.0.0.1", "[::1]:9"])
def test_this_machine_may_be_called_by_its_own_names(http_server: HttpServer, host: str) -> None:
    for headers in ({"Host": host}, {"Origin": f"http://{host}"}):
        response = http_server.request(
            "POST", "/mcp", headers=JSON_RPC | headers, content=INITIALIZE
        )
        assert response.status_code == 200


@pytest.mark.parametrize("headers", [{"Host": ALLOWED_HOST}, {"Origin": f"https://{ALLOWED_HOST}"}])
def test_allowed_hosts_are_served(
    locked: HttpServer, http_server: HttpServer, headers: dict[str, str]
) -> None:
    sent = JSON_RPC | headers | authorization(f"Bearer {TOKEN}")
    assert locked.request("POST", "/mcp", headers=sent, content=INITIALIZE).status_code == 200
    refused = http_server.request("POST", "/mcp", headers=sent, content=INITIALIZE)
    assert refused.status_code in {421, 403}


def test_a_star_among_the_allowed_hosts_serves_any_name(unlocked: HttpServer) -> None:
    headers = JSON_RPC | {"Host": "any.example.com", "Origin": "https://any.example.com"}
    response = unlocked.request("POST", "/mcp", headers=headers, content=INITIALIZE)
    assert response.status_code == 200


def test_without_a_token_only_this_machine_is_served_and_that_is_said(
    http_server: HttpServer,
) -> None:
    assert listening_on(http_server) == {"127.0.0.1"}
    warnings = [line for line in http_server.log.splitlines() if line.startswith("WARNING")]
    assert any("MCP_API_KEY" in line for line in warnings)


def test_with_a_token_the_network_is_served(locked: HttpServer) -> None:
    assert listening_on(locked) == {"0.0.0.0"}
