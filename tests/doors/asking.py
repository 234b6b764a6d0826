"""Tool calls over plain HTTP, with arguments that no client could encode."""

import json
from typing import Any

import httpx2

from tests.contract.process import HttpServer, run_command
from tests.doors.house import TOKEN

VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "plain", "version": "1"},
}
HEADERS = {
    "Authorization": f"Bearer {TOKEN}",
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": VERSION,
}

Answer = dict[str, Any]


def call(client: httpx2.Client, server: HttpServer, tool: str, arguments: Answer) -> Answer:
    """Return any result of a tool call; a protocol error fails the test."""
    params = {"name": tool, "arguments": arguments}
    reply = ask(client, server, "tools/call", params, {"Mcp-Name": tool})
    assert "result" in reply, reply
    result: Answer = reply["result"]
    return result


def call_as_command(server: HttpServer, name: str, tool: str, arguments: Answer) -> Answer:
    """Return any result of a tool that only quinion's own commands can call."""
    with run_command(server.home, name, server.variables) as session:
        result = session.start(tool, **arguments).reply()
    answer: Answer = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return answer


def ask(
    client: httpx2.Client,
    server: HttpServer,
    method: str,
    params: Answer,
    headers: dict[str, str] | None = None,
) -> Answer:
    """Send one request of protocol 2026 and return the reply."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    sent = {**HEADERS, "Mcp-Method": method, **(headers or {})}
    answer = client.post(f"{server.address}/mcp", headers=sent, content=json.dumps(body))
    assert answer.status_code < 500, answer.text
    return parse(answer)


def parse(answer: httpx2.Response) -> Answer:
    """Parse the reply, which is an event stream for slow calls."""
    text = answer.text
    if answer.headers["content-type"].startswith("text/event-stream"):
        text = [line[6:] for line in text.splitlines() if line.startswith("data: ")][-1]
    reply: Answer = json.loads(text)
    return reply


def text_of(result: Answer) -> str:
    """Return the text of a result."""
    return "\n".join(part.get("text", "") for part in result["content"])
