"""Slow and endless clients: their connections are closed, and other clients do not wait."""

import resource
import socket
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress

import httpx2
import psutil
import pytest
from mcp.server.mcpserver import MCPServer

from quinion.servers.http import MAX_CONNECTIONS, MAX_SESSIONS, SESSION_IDLE_S, build_app
from quinion.servers.http_limits import BODY_TIMEOUT_S, HEAD_TIMEOUT_S
from quinion.settings import Settings
from tests.contract.conftest import NewHome
from tests.contract.endpoints import INITIALIZE, JSON_RPC
from tests.contract.process import plain_client, run_http
from tests.doors.house import MCP_SERVERS, OCR_API, House
from tests.doors.wire import connect, head, listen

SLOW_CLIENTS = 8
"""Connections of each kind for each server."""
LATE_S = 8.0
"""Tolerance of a timeout on a busy machine."""


@pytest.mark.timeout(120)
def test_slow_requests_are_ended_and_nobody_waits_for_them(house: House) -> None:
    """One byte per second: endless heads and endless bodies."""
    with ExitStack() as stack:
        heads, bodies = [], []
        for name, server in house.items():
            path = "/v1/ocr" if name == OCR_API else "/mcp"
            body = head(server, f"POST {path}", "Content-Length: 5000") + b"\r\n{"
            for _ in range(SLOW_CLIENTS):
                heads.append(stack.enter_context(connect(server)))
                heads[-1].sendall(b"GET /health HTTP/1.1\r\nX: ")
                bodies.append(stack.enter_context(connect(server)))
                bodies[-1].sendall(body)
        _drip(house, [*heads, *bodies])
        outcomes = [listen(connection, 0.1) for connection in heads]
        assert all(outcome.is_ended and outcome.statuses == () for outcome in outcomes)
        outcomes = [listen(connection, 0.1) for connection in bodies]
    assert all(outcome.is_ended for outcome in outcomes)
    assert {outcome.statuses for outcome in outcomes} <= {(408,), ()}, "a reset may lose it"
    assert any(outcome.statuses == (408,) for outcome in outcomes)


def _drip(house: House, connections: Sequence[socket.socket]) -> None:
    """Send a byte per second on each connection, and check that other requests succeed."""
    begun = time.monotonic()
    with plain_client() as client:
        while time.monotonic() - begun < max(HEAD_TIMEOUT_S, BODY_TIMEOUT_S) + LATE_S:
            for connection in connections:
                with suppress(OSError):
                    connection.send(b" ")
            for server in house.values():
                asked = time.monotonic()
                assert client.get(f"{server.address}/health").status_code == 200
                assert time.monotonic() - asked < 2
            time.sleep(1)


def test_a_connection_that_says_nothing_is_ended(house: House) -> None:
    with ExitStack() as stack:
        silent = [stack.enter_context(connect(house[name])) for name in MCP_SERVERS]
        begun = time.monotonic()
        for connection in silent:
            connection.settimeout(HEAD_TIMEOUT_S + LATE_S)
            assert connection.recv(1) == b""
    assert time.monotonic() - begun > HEAD_TIMEOUT_S / 2


@pytest.mark.skipif(not hasattr(psutil.Process, "rlimit"), reason="only Linux tells")
def test_connections_do_not_take_the_files_that_the_store_needs(new_home: NewHome) -> None:
    """More connections are opened than the usual limit of open files."""
    # Just enough for the open files of this process: its children have the same limit.
    opened = psutil.Process().num_fds() + 64
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert opened < MAX_CONNECTIONS
    resource.setrlimit(resource.RLIMIT_NOFILE, (opened, hard))
    try:
        with run_http(new_home()) as server:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            allowed = psutil.Process(server.process.pid).rlimit(psutil.RLIMIT_NOFILE)[0]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert allowed >= min(MAX_CONNECTIONS, hard)


@asynccontextmanager
async def _serving(idle_s: float, most: int) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve quinion's app with a server without tools, and with test limits."""
    server: MCPServer[None] = MCPServer("nothing")
    app = build_app(server, Settings(), lambda _: "no")
    manager = server.session_manager
    assert (manager.session_idle_timeout, manager.max_sessions) == (SESSION_IDLE_S, MAX_SESSIONS)
    manager.session_idle_timeout, manager.max_sessions = idle_s, most
    transport = httpx2.ASGITransport(app)
    async with (
        manager.run(),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        yield client


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_sessions_are_bounded_and_an_idle_one_makes_room() -> None:
    async with _serving(idle_s=0.5, most=3) as client:
        opened = [await client.post("/mcp", headers=JSON_RPC, content=INITIALIZE) for _ in "123"]
        assert [answer.status_code for answer in opened] == [200] * 3
        refused = await client.post("/mcp", headers=JSON_RPC, content=INITIALIZE)
        assert refused.status_code == 503
        assert "Too many open sessions" in refused.text
        deadline = time.monotonic() + 30
        while (await client.post("/mcp", headers=JSON_RPC, content=INITIALIZE)).status_code == 503:
            assert time.monotonic() < deadline, "no session is ended"
        headers = {**JSON_RPC, "Mcp-Session-Id": opened[0].headers["mcp-session-id"]}
        ping = '{"jsonrpc": "2.0", "id": 2, "method": "ping"}'
        assert (await client.post("/mcp", headers=headers, content=ping)).status_code == 404
