"""nginx with the configuration of `deploy/cluster`: sessions stay with their server.

The two servers have homes of their own here, because only the routing is tested.
"""

import dataclasses
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from tests.contract.conftest import NewHome
from tests.contract.process import HttpServer, plain_client, run_http
from tests.nginx_server import Nginx, needs_nginx, nginx

pytestmark = needs_nginx
TOOL = "list_ingested_documents"


@pytest.fixture
def servers(new_home: NewHome) -> Iterator[list[HttpServer]]:
    with ExitStack() as stack:
        yield [stack.enter_context(run_http(new_home())) for _ in range(2)]


@pytest.fixture
def proxy(servers: list[HttpServer], tmp_path: Path) -> Iterator[Nginx]:
    ports = [int(server.address.rpartition(":")[2]) for server in servers]
    with nginx(tmp_path, {3002: ports}) as proxy:
        yield proxy


def behind(proxy: Nginx, server: HttpServer) -> HttpServer:
    """The servers as clients of nginx see them."""
    return dataclasses.replace(server, address=f"http://127.0.0.1:{proxy.ports[3002]}")


@pytest.mark.parametrize("transport", ["http", "http-legacy", "sse"])
def test_each_session_stays_with_the_server_that_opened_it(
    proxy: Nginx, servers: list[HttpServer], transport: str
) -> None:
    front = behind(proxy, servers[0])
    with ExitStack() as stack:
        sessions = [stack.enter_context(front.session(transport)) for _ in range(8)]
        for _ in range(3):
            for session in sessions:
                assert session.call(TOOL, application_ref="25/1")["document_count"] == 0
    used = {tried[-1] for _, tried in proxy.routes}
    assert len(used) == 2
    assert all(status in {"200", "202"} for status, _ in proxy.routes)


def test_an_unknown_session_is_answered_with_404_once_by_each_server(
    proxy: Nginx, servers: list[HttpServer]
) -> None:
    front = behind(proxy, servers[0])
    answer = post(front, "unknown")
    assert answer.status_code == 404
    [(status, tried)] = proxy.routes
    assert (status, len(tried)) == ("404", 2)


def test_new_sessions_go_to_the_server_that_is_left(
    proxy: Nginx, servers: list[HttpServer]
) -> None:
    front = behind(proxy, servers[0])
    servers[0].stop()
    for transport in ("http", "http-legacy"):
        for _ in range(4):
            with front.session(transport) as session:
                assert session.call(TOOL, application_ref="25/1")["document_count"] == 0
    with plain_client() as client:
        assert client.get(f"{front.address}/health").status_code == 200
    assert post(front, "of the server that ended").status_code == 404


def post(front: HttpServer, session: str) -> httpx2.Response:
    headers = {
        "Mcp-Session-Id": session,
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    body = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    return front.request("POST", "/mcp", headers=headers, content=body)
