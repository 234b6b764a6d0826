"""HTTP matrix: every endpoint of every server with every kind of invalid request.

No answer reveals more than the contract allows, no request causes a server error or a logged
traceback, and the next valid request succeeds.
"""

import json
import time
from collections.abc import Iterator

import httpx2
import pytest

from tests.contract.endpoints import (
    BAD_AUTHORIZATIONS,
    ENDPOINTS,
    INITIALIZE,
    JSON_RPC,
)
from tests.contract.process import HttpServer, plain_client
from tests.doors.house import MCP_SERVERS, OCR_API, TOKEN, House, unexpected
from tests.doors.wire import connect, head, send

FILE = "/v1/files/0"
OCR_ENDPOINTS = [
    ("POST", "/v1/files"),
    ("GET", FILE),
    ("DELETE", FILE),
    ("GET", f"{FILE}/url"),
    ("POST", "/v1/ocr"),
]
DOORS = {**dict.fromkeys(MCP_SERVERS, ENDPOINTS), OCR_API: OCR_ENDPOINTS}
IN = {"Authorization": f"Bearer {TOKEN}"}
LARGEST = 4 << 20
FIVE_MIB = b" " * (5 << 20)

ELSEWHERE: dict[str, tuple[str, dict[str, str]]] = {
    "in the query": (f"?token={TOKEN}&access_token={TOKEN}&api_key={TOKEN}", {}),
    "in a cookie": ("", {"Cookie": f"Authorization=Bearer {TOKEN}; token={TOKEN}"}),
    "in other headers": ("", {"X-Api-Key": TOKEN, "Proxy-Authorization": f"Bearer {TOKEN}"}),
    "twice in one header": ("", {"Authorization": f"Bearer {TOKEN}, Bearer {TOKEN}"}),
    "quoted": ("", {"Authorization": f'Bearer "{TOKEN}"'}),
    "in capitals": ("", {"Authorization": f"Bearer {TOKEN.upper()}"}),
    "after a tab": ("", {"Authorization": f"Bearer\t{TOKEN}"}),
}
FOREIGN_HOSTS = [
    "rebound.example.com",
    "localhost.example.com",
    "127.0.0.1.example.com:80",
    "example.com:localhost",
    "localhost@example.com",
    "localhost:80@example.com",
    "0.0.0.0",
    "[::ffff:7f00:1]",
    "2130706433",
    "localhost.",
    "localhost:",
    "localhost:123456",
]
FOREIGN_ORIGINS = [
    "https://evil.example.com",
    "http://localhost.example.com",
    "http://127.0.0.1.example.com:80",
    "http://localhost@example.com",
    "http://localhost:80@example.com",
    "http://localhost:80.example.com",
    "ftp://localhost",
    "localhost",
    "file://",
    "null",
    "chrome-extension://abcdef",
]


@pytest.fixture(scope="module")
def client() -> Iterator[httpx2.Client]:
    with plain_client() as client:
        yield client


@pytest.fixture(autouse=True)
def _unharmed(house: House, client: httpx2.Client) -> Iterator[None]:
    """Assert that no traceback was logged and that the next request succeeds."""
    before = {name: len(server.log) for name, server in house.items()}
    yield
    for name, server in house.items():
        assert not unexpected(server.log[before[name] :])
        assert client.get(f"{server.address}/health").json() == {"status": "ok"}
        if name != OCR_API:
            answer = client.post(f"{server.address}/mcp", headers=JSON_RPC | IN, content=INITIALIZE)
            assert answer.status_code == 200
            end(client, server, answer.headers["mcp-session-id"])


def end(client: httpx2.Client, server: HttpServer, session: str) -> None:
    headers = {**IN, "Mcp-Session-Id": session}
    assert client.delete(f"{server.address}/mcp", headers=headers).status_code == 200


def knock(
    client: httpx2.Client, server: HttpServer, method: str, path: str, headers: dict[str, str]
) -> int:
    """Return the status of the answer to an empty message, which may be a stream."""
    sent = JSON_RPC | headers
    with client.stream(method, server.address + path, headers=sent, content="{}") as answer:
        return answer.status_code


@pytest.mark.parametrize("name", DOORS)
def test_without_the_token_nobody_comes_in(house: House, client: httpx2.Client, name: str) -> None:
    server = house[name]
    tried: list[tuple[str, dict[str, str]]] = [
        ("", {} if value is None else {"Authorization": value})
        for value in BAD_AUTHORIZATIONS.values()
    ]
    for method, path in DOORS[name]:
        for query, headers in [*tried, *ELSEWHERE.values()]:
            answer = client.request(
                method, server.address + path + query, headers=JSON_RPC | headers, content="{}"
            )
            assert answer.status_code == 401, (method, path, query, headers)
            assert TOKEN not in answer.text
    assert TOKEN not in server.log


@pytest.mark.parametrize("name", DOORS)
def test_a_foreign_name_or_page_is_refused_even_with_the_token(
    house: House, client: httpx2.Client, name: str
) -> None:
    server = house[name]
    for method, path in DOORS[name]:
        for host in FOREIGN_HOSTS:
            status = knock(client, server, method, path, {**IN, "Host": host})
            assert status in {400, 421}, (method, path, host)
        for origin in FOREIGN_ORIGINS:
            status = knock(client, server, method, path, {**IN, "Origin": origin})
            assert status == 403, (method, path, origin)


@pytest.mark.parametrize("name", DOORS)
def test_health_is_open_and_says_nothing_but_that(house: House, name: str) -> None:
    for headers in ({}, {"Host": "example.com"}, {"Authorization": "Basic x"}):
        answer = house[name].request("GET", "/health", headers=headers)
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    for path in ("/health/", "/health/../mcp", "/health%2f..%2fmcp", "//health", "/HEALTH"):
        assert house[name].request("GET", path).status_code in {307, 401, 404}, path


@pytest.mark.parametrize("name", MCP_SERVERS)
@pytest.mark.parametrize("path", ["/mcp", f"/messages/?session_id={'0' * 32}"])
def test_a_message_of_five_mib_is_refused_however_it_comes(
    house: House, client: httpx2.Client, name: str, path: str
) -> None:
    address = house[name].address + path
    parts = [FIVE_MIB[: 1 << 16]] * 80
    for content in (FIVE_MIB, iter(parts)):
        answer = client.post(address, headers=JSON_RPC | IN, content=content)
        assert answer.status_code == 413
    fitting = client.post(address, headers=JSON_RPC | IN, content=FIVE_MIB[:LARGEST])
    assert fitting.status_code in {400, 404}


def test_the_ocr_endpoint_takes_five_mib_and_wants_to_know_the_length(
    house: House, client: httpx2.Client
) -> None:
    address = house[OCR_API].address + "/v1/ocr"
    assert client.post(address, headers=IN, content=FIVE_MIB).status_code == 422
    assert client.post(address, headers=IN, content=iter([FIVE_MIB])).status_code == 411


def _message(**parts: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", **parts}).encode()


def _call(**params: object) -> bytes:
    return _message(method="tools/call", params=params)


NESTED = b"[" * 100_000 + b"]" * 100_000
MALFORMED: dict[str, bytes] = {
    "nothing": b"",
    "half a message": b"{",
    "no UTF-8": b"\xff\xfe{}",
    "a byte order mark": b"\xef\xbb\xbf" + INITIALIZE.encode(),
    "null": b"null",
    "a number": b"1",
    "a text": b'"ping"',
    "an empty batch": b"[]",
    "a batch": b"[" + _message() + b"," + _message(id=2) + b"]",
    "no version": b'{"id": 1, "method": "ping"}',
    "version 1": _message(jsonrpc="1.0"),
    "no method": b'{"jsonrpc": "2.0", "id": 1}',
    "a number as method": _message(method=1),
    "an unknown method": _message(method="no/such"),
    "a method of 100 kB": _message(method="x" * 100_000),
    "half a character as method": b'{"jsonrpc": "2.0", "id": 1, "method": "\\ud800"}',
    "an object as id": _message(id={}),
    "a list as id": _message(id=[1]),
    "a fraction as id": _message(id=1.5),
    "null as id": _message(id=None),
    "true as id": _message(id=True),
    "an id of 5,000 digits": b'{"jsonrpc": "2.0", "id": ' + b"9" * 5000 + b', "method": "ping"}',
    "an id of 100 kB": _message(id="x" * 100_000),
    "an endless id": b'{"jsonrpc": "2.0", "id": 1e400, "method": "ping"}',
    "half a character as id": b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}',
    "a list as params": _message(method="tools/call", params=[]),
    "a text as params": _message(method="tools/call", params="x"),
    "deep nesting": b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": '
    + NESTED
    + b"}}",
    "deep arguments": b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": '
    b'{"name": "search", "arguments": {"query": ' + b"[" * 120 + b"]" * 120 + b"}}}",
    "no number": b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": NaN}}',
    "an unrequested answer": b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
    "an unrequested error": b'{"jsonrpc": "2.0", "id": 1, "error": {}}',
    "both": b'{"jsonrpc": "2.0", "id": 1, "result": {}, "method": "ping"}',
    "the same key twice": b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}',
    "a call of nothing": _call(arguments={}),
    "a call of a number": _call(name=1, arguments={}),
    "a call of an unknown tool": _call(name="../" * 1000, arguments={}),
    "a list as arguments": _call(name="search", arguments=[]),
    "a number of 400 digits": _call(name="search", arguments={"query": "x", "n_results": 10**400}),
    "a resource of nothing": _message(method="resources/read", params={"uri": "\0"}),
    "a resource of half a character": b'{"jsonrpc": "2.0", "id": 1, "method": "resources/read", '
    b'"params": {"uri": "x://\\udfff"}}',
    "an unknown prompt": _message(method="prompts/get", params={"name": "\0"}),
    "a cursor of nowhere": _message(method="tools/list", params={"cursor": "nowhere"}),
    "a completion of nothing": _message(method="completion/complete", params={}),
    "a log level that is none": _message(method="logging/setLevel", params={"level": "all"}),
    "a progress token that is none": _call(
        name="search", arguments={}, _meta={"progressToken": []}
    ),
    "a cancellation of nothing": b'{"jsonrpc": "2.0", "method": "notifications/cancelled"}',
    "an introduction of nothing": _message(method="initialize", params={}),
    "an introduction from the future": INITIALIZE.replace("2025-06-18", "9999-01-01").encode(),
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "plain", "version": "1"},
}


def _modern(body: bytes) -> bytes:
    """Convert a valid message to protocol 2026."""
    try:
        message = json.loads(body)
        message["params"] = {**message.get("params", {}), "_meta": META}
        return json.dumps(message).encode()
    except (ValueError, TypeError, AttributeError, RecursionError):
        return body


@pytest.mark.parametrize("name", MCP_SERVERS)
@pytest.mark.parametrize("way", ["without a session", "in a session", "2026", "unknown version"])
def test_what_is_no_message_is_refused_and_no_fault_of_the_server(
    house: House, client: httpx2.Client, name: str, way: str
) -> None:
    server = house[name]
    headers = JSON_RPC | IN
    if way == "in a session":
        opened = client.post(f"{server.address}/mcp", headers=headers, content=INITIALIZE)
        headers |= {
            "Mcp-Session-Id": opened.headers["mcp-session-id"],
            "MCP-Protocol-Version": "2025-06-18",
        }
    elif way != "without a session":
        version = "2026-07-28" if way == "2026" else "someday"
        headers |= {"MCP-Protocol-Version": version}
    for what, body in MALFORMED.items():
        for content in {body, _modern(body)} if way == "2026" else [body]:
            answer = client.post(f"{server.address}/mcp", headers=headers, content=content)
            assert answer.status_code < 500, (what, answer.text)
            assert "Traceback" not in answer.text, what
            assert "internal" not in answer.text.lower(), (what, answer.text)


@pytest.mark.parametrize("name", MCP_SERVERS)
def test_what_is_no_message_does_not_end_a_session_over_sse(
    house: House, client: httpx2.Client, name: str
) -> None:
    server = house[name]
    with client.stream("GET", f"{server.address}/sse", headers=IN) as stream:
        lines = stream.iter_lines()
        assert next(lines) == "event: endpoint"
        messages = server.address + next(lines).removeprefix("data: ")
        client.post(messages, headers=JSON_RPC | IN, content=INITIALIZE)
        for what, body in MALFORMED.items():
            answer = client.post(messages, headers=JSON_RPC | IN, content=body)
            assert answer.status_code in {202, 400}, (what, answer.text)
        client.post(messages, headers=JSON_RPC | IN, content=_message(id="still there"))
        assert any('"still there"' in line for line in lines)


@pytest.mark.parametrize("name", DOORS)
def test_no_method_or_media_type_is_a_fault_of_the_server(
    house: House, client: httpx2.Client, name: str
) -> None:
    server = house[name]
    paths = [
        "/",
        "/mcp",
        "/sse",
        "/messages/",
        "/v1/ocr",
        "/v1/files",
        "/signed/x",
        "/%00",
        "/..;/",
    ]
    kinds: list[dict[str, str]] = [
        {},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/json; charset=utf-7"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "/", "Accept": "/"},
        {"Content-Encoding": "gzip"},
        {"Accept": "image/png"},
        {"Mcp-Session-Id": "\x7f" * 100},
        {"Last-Event-Id": "0"},
    ]
    for path in paths:
        for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "PROPFIND", "X"):
            answer = client.request(method, server.address + path, headers=IN, content="x")
            assert 400 <= answer.status_code < 500, (method, path)
        for kind in kinds:
            answer = client.post(server.address + path, headers=IN | kind, content="x" * 100)
            assert 400 <= answer.status_code < 500, (path, kind)


@pytest.mark.parametrize("name", DOORS)
def test_no_address_of_a_file_leads_out_of_the_server(house: House, name: str) -> None:
    for path in (
        "/../../../../etc/passwd",
        "/v1/files/..%2f..%2f..%2fetc%2fpasswd",
        "/signed/..%2f..%2fetc%2fpasswd?expires=99999999999&signature=" + "0" * 64,
        "/signed/x?expires=1e9&signature=%ff",
        "/signed/x?expires=" + "9" * 5000 + "&signature=0",
        "/messages/?session_id=" + "%00" * 32,
    ):
        answer = house[name].request("GET", path, headers=IN)
        assert 400 <= answer.status_code < 500, path
        assert "root:" not in answer.text


JUNK: dict[str, bytes] = {
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 200,
    "a line without an end": b"GET /mcp",
    "HTTP/0.9": b"GET /mcp\r\n",
    "HTTP/9.9": b"GET /mcp HTTP/9.9\r\n\r\n",
    "no host": b"POST /mcp HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
    "an absolute address": b"GET http://example.com/mcp HTTP/1.1\r\nHost: example.com\r\n\r\n",
    "another proxy's": b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n",
    "a header without a name": b"GET /mcp HTTP/1.1\r\n: x\r\n\r\n",
    "a NUL in a header": b"GET /mcp HTTP/1.1\r\nHost: a\0b\r\n\r\n",
    "a NUL in the path": b"GET /m\0cp HTTP/1.1\r\nHost: a\r\n\r\n",
    "bytes in the path": b"GET /\xff\xfe HTTP/1.1\r\nHost: a\r\n\r\n",
    "a folded header": b"GET /mcp HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
    "a length that is none": b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: many\r\n\r\n",
    "a length below zero": b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    "two lengths": b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
    b"Content-Length: 2\r\n\r\n",
    "a length and chunks": b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /health HTTP/1.1\r\n\r\n",
    "no chunks": b"POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a chunk without an end": b"POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"f" * 17
    + b"\r\n",
    "WebSocket": b"GET /mcp HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0" * 100,
    "a header of 1 MB": b"GET /health HTTP/1.1\r\nX: " + b"x" * (1 << 20) + b"\r\n\r\n",
    "a path of 1 MB": b"GET /" + b"x" * (1 << 20) + b" HTTP/1.1\r\n\r\n",
    "headers of 1 MB": b"GET /health HTTP/1.1\r\n" + b"X: xxxx\r\n" * 120_000 + b"\r\n",
}


@pytest.mark.parametrize("name", DOORS)
def test_what_is_no_http_is_refused(house: House, name: str) -> None:
    for what, data in JUNK.items():
        outcome = send(house[name], data)
        assert all(400 <= status < 500 for status in outcome.statuses), (what, outcome)
        if "1 MB" in what:
            assert outcome.is_ended, what


@pytest.mark.parametrize("name", MCP_SERVERS)
def test_a_request_behind_a_refused_one_is_refused_as_well(house: House, name: str) -> None:
    """Two requests on one connection: the token of one does not apply to the other."""
    server = house[name]
    good = head(server, "GET /mcp") + b"\r\n"
    bad = head(server, "GET /mcp", token="wrong") + b"\r\n"
    outcome = send(server, good + bad)
    assert outcome.statuses == (406, 401)
    outcome = send(server, bad + good)
    assert outcome.statuses == (401, 406)


@pytest.mark.parametrize("name", DOORS)
def test_a_client_that_goes_in_the_middle_of_its_request_is_no_fault(
    house: House, name: str
) -> None:
    server = house[name]
    for _, path in DOORS[name]:
        for version in ("2025-06-18", "2026-07-28"):
            kinds = ("Content-Type: application/json", f"MCP-Protocol-Version: {version}")
            accept = "Accept: application/json, text/event-stream"
            begun = head(server, f"POST {path}", "Content-Length: 5000", accept, *kinds)
            with connect(server) as connection:
                connection.sendall(begun + b"\r\n{")
                time.sleep(0.02)


@pytest.mark.parametrize("name", MCP_SERVERS)
def test_five_hundred_sessions_do_no_harm(house: House, client: httpx2.Client, name: str) -> None:
    server = house[name]
    opened = [
        client.post(f"{server.address}/mcp", headers=JSON_RPC | IN, content=INITIALIZE)
        for _ in range(500)
    ]
    assert {answer.status_code for answer in opened} == {200}
    assert client.get(f"{server.address}/health").elapsed.total_seconds() < 1
    for answer in opened:
        end(client, server, answer.headers["mcp-session-id"])
