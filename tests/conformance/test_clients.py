"""Clients of the TypeScript and the Python SDK, in both versions, over every transport.

Each runs the same scenario with each server: it connects, lists the tools, calls some of them, and
reads resources, prompts and completions. The SDK validates the schemas and the answers.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from quinion import __version__
from tests.conformance.clients import plan
from tests.conformance.clients.plan import Json, Server
from tests.conformance.conftest import TOKEN
from tests.conformance.tools import HERE, find_node, find_python_v1, run
from tests.contract.conftest import NewHome
from tests.contract.process import SCRIPTS, Home, run_http, wait_until_free

PROTOCOLS = {1: "2025-11-25", 2: "2026-07-28"}
"""Protocol version that each SDK version negotiates with the servers."""
PATIENCE_S = 120.0

pytestmark = pytest.mark.timeout(300)


@dataclass(frozen=True)
class Client:
    """Client program in one language with one version of the SDK."""

    language: str
    version: int

    @property
    def name(self) -> str:
        return f"{self.language}_{self.version}"

    def command(self) -> tuple[str, Path]:
        """Return the command that starts it; skips the test if it is not installed."""
        scripts = HERE / "clients"
        if self.language == "typescript":
            return find_node(), scripts / "client.mjs"
        return find_python_v1() if self.version == 1 else sys.executable, scripts / "client.py"


CLIENTS = [Client(language, version) for language in ("typescript", "python") for version in (1, 2)]


@pytest.fixture(scope="module", params=CLIENTS, ids=lambda client: client.name)
def client(request: pytest.FixtureRequest) -> Client:
    chosen: Client = request.param
    chosen.command()
    return chosen


@pytest.fixture(scope="module")
def served(new_home: NewHome) -> Iterator[tuple[Home, Mapping[str, str]]]:
    """A home, and the address of each server; all run in one process with a token."""
    home = new_home()
    ports = {f"{one.name.upper().replace('-', '_')}_PORT": "0" for one in plan.SERVERS}
    command = ("quinion", "serve", "--no-console", "--host", "127.0.0.1")
    with run_http(home, {"MCP_API_KEY": TOKEN, **ports}, command) as server:
        assert server.process.stdout is not None
        lines = [server.printed, *(server.process.stdout.readline() for _ in plan.SERVERS[1:])]
        found = [re.match(r"(\S+) +(http://\S+)/mcp", line) for line in lines]
        yield home, {match[1]: match[2] for match in found if match}


@pytest.fixture(scope="module")
def own_home(new_home: NewHome) -> Home:
    """An unused home for the servers that a client starts."""
    return new_home()


@pytest.fixture(params=plan.SERVERS, ids=lambda server: server.name)
def server(request: pytest.FixtureRequest) -> Server:
    chosen: Server = request.param
    return chosen


def go_through(client: Client, server: Server, transport: str, home: Home, where: Json) -> Json:
    """Run the scenario with a client, check its calls, and return its report."""
    folder = home.files / f"{client.name}_{transport}_{server.name}".replace("-", "_")
    folder.mkdir()
    calls = server.calls(home, folder)
    given = {
        "version": client.version,
        "transport": transport,
        "calls": [{"tool": call.tool, "arguments": call.arguments} for call in calls],
        "words": plan.WORDS,
        "most": plan.MOST,
        "patience_s": plan.PATIENCE_S,
        **where,
    }
    ended = run(*client.command(), patience_s=PATIENCE_S, given=json.dumps(given))
    assert ended.returncode == 0, ended.stderr
    report: Json = json.loads(ended.stdout)
    for call, answer in zip(calls, report["answers"], strict=True):
        call.check(answer)
    return report


def check_report(report: Json, server: Server, client: Client) -> None:
    """Check the parts of a client's report besides its calls."""
    assert report["server"]["version"] == __version__
    assert report["protocol"] == PROTOCOLS[client.version]
    assert all(tool["title"] for tool in report["tools"])
    assert server.resource in report["contents"]
    for contents in report["contents"].values():
        assert any(content.get("text") or content.get("blob") for content in contents)
    assert server.prompt in report["messages"]
    for messages in report["messages"].values():
        assert all(message["content"]["text"] for message in messages)
    assert report["values"][server.argument]


@pytest.mark.parametrize(("transport", "endpoint"), [("sse", "sse"), ("http", "mcp")])
def test_a_client_works_over_http(
    client: Client,
    server: Server,
    transport: str,
    endpoint: str,
    served: tuple[Home, Mapping[str, str]],
) -> None:
    home, addresses = served
    where = {
        "url": f"{addresses[server.name]}/{endpoint}",
        "headers": {"Authorization": f"Bearer {TOKEN}"},
    }
    report = go_through(client, server, transport, home, where)
    check_report(report, server, client)


def test_a_client_works_over_stdio(client: Client, server: Server, own_home: Home) -> None:
    where = {"command": [str(SCRIPTS / server.script)], "env": own_home.environment({})}
    report = go_through(client, server, "stdio", own_home, where)
    wait_until_free(own_home)
    check_report(report, server, client)
