"""The app under test is quinion's: it requires the token and behaves as the suite expects."""

import json
from http.client import HTTPConnection

from tests.conformance.conftest import TOKEN

VERSION = "2026-07-28"
NAME = "test_simple_text"


def ask(app: str, headers: dict[str, str]) -> tuple[int, str]:
    """Call a tool with protocol 2026; return the status and the answer."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": NAME, "arguments": {}, "_meta": meta},
    }
    usual = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "Mcp-Protocol-Version": VERSION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": NAME,
    }
    connection = HTTPConnection(app.removeprefix("http://"), timeout=30)
    try:
        connection.request("POST", "/mcp", json.dumps(message), usual | headers)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def test_without_the_token_nothing_is_answered(app: str) -> None:
    assert ask(app, {})[0] == 401


def test_blanks_around_a_header_are_no_part_of_it(app: str) -> None:
    token = {"Authorization": f"Bearer {TOKEN}"}
    assert ask(app, token | {"Mcp-Name": "another"})[0] == 400
    status, answer = ask(app, token | {"Mcp-Name": f"  {NAME} \t"})
    assert status == 200
    assert "This is a simple text response for testing." in answer
