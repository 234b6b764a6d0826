"""HTTP checks shared by all servers: endpoints, token and listening address."""

import json

import psutil

from tests.contract.process import HttpServer, plain_client

TOKEN = "correct-horse-battery-staple"
WRONG_TOKEN = "incorrect-horse"

ENDPOINTS = [
    ("GET", "/sse"),
    ("POST", "/messages/"),
    ("GET", "/mcp"),
    ("POST", "/mcp"),
    ("DELETE", "/mcp"),
]
BAD_AUTHORIZATIONS = {
    "none": None,
    "a wrong token": f"Bearer {WRONG_TOKEN}",
    "the token and more": f"Bearer {TOKEN}x",
    "a part of the token": f"Bearer {TOKEN[:-1]}",
    "no token": "Bearer",
    "only the token": TOKEN,
    "basic": "Basic Y29ycmVjdC1ob3JzZTpiYXR0ZXJ5",
    "basic with the token": f"Basic {TOKEN}",
    "digest": f"Digest {TOKEN}",
    "token": f"Token {TOKEN}",
    "an empty header": "",
}
NOT_ABOUT_AUTHENTICATION = {400, 404, 405, 406, 422}
"""Statuses of an endpoint that accepts the token and then rejects an empty message."""

INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "plain", "version": "1"},
        },
    }
)
JSON_RPC = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
}


def authorization(value: str | None) -> dict[str, str]:
    return {} if value is None else {"Authorization": value}


def knock(server: HttpServer, method: str, path: str, headers: dict[str, str]) -> int:
    """Return the status of an endpoint's answer to an empty message."""
    if path == "/sse":
        return first_of_stream(server, path, headers)[0]
    return server.request(method, path, headers=JSON_RPC | headers, content="{}").status_code


def is_let_in(status: int) -> bool:
    """Whether an endpoint has accepted the token of a message, regardless of its answer."""
    return status == 200 or status in NOT_ABOUT_AUTHENTICATION


def first_of_stream(server: HttpServer, path: str, headers: dict[str, str]) -> tuple[int, str, str]:
    """Return status, media type and first line of an endless answer."""
    with (
        plain_client() as client,
        client.stream("GET", server.address + path, headers=headers) as response,
    ):
        return response.status_code, response.headers["content-type"], next(response.iter_lines())


def initialize_over_sse(server: HttpServer) -> str:
    """Open the stream, send to the endpoint that it names, return the server's name."""
    with (
        plain_client() as client,
        client.stream("GET", f"{server.address}/sse") as response,
    ):
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = response.iter_lines()
        assert next(lines) == "event: endpoint"
        data = next(lines)
        assert data.startswith("data: /messages/?session_id=")
        posted = client.post(
            server.address + data.removeprefix("data: "), headers=JSON_RPC, content=INITIALIZE
        )
        assert posted.status_code == 202
        reply = next(json.loads(line[6:]) for line in lines if line.startswith("data: {"))
    assert reply["id"] == 1
    name: str = reply["result"]["serverInfo"]["name"]
    return name


def go_through_a_session(server: HttpServer) -> str:
    """Open a session at `/mcp`, listen and end it; return the answer to the opening."""
    opened = server.request("POST", "/mcp", headers=JSON_RPC, content=INITIALIZE)
    assert opened.status_code == 200
    headers = JSON_RPC | {
        "Mcp-Session-Id": opened.headers["mcp-session-id"],
        "MCP-Protocol-Version": "2025-06-18",
    }
    with (
        plain_client() as client,
        client.stream("GET", f"{server.address}/mcp", headers=headers) as stream,
    ):
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
    assert server.request("DELETE", "/mcp", headers=headers).status_code == 200
    ping = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"})
    assert server.request("POST", "/mcp", headers=headers, content=ping).status_code == 404
    return opened.text


def listening_on(server: HttpServer) -> set[str]:
    connections = psutil.Process(server.process.pid).net_connections("inet")
    return {connection.laddr.ip for connection in connections if connection.status == "LISTEN"}
