"""Another server is one folder and one line in the catalog.

The folder is `added/toy`; `add_toy` is the line. Everything else is the product's own code: HTTP
with authentication, the socket server, the relay on stdio, `connect` and `doctor`.
"""

import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from pydantic import SecretStr

from quinion import servers
from quinion.cli.connect import run as connect_clients
from quinion.cli.doctor.servers import check_servers
from quinion.cli.server_client import call, connect
from quinion.daemon.socket_server import open_socket_server
from quinion.engine import open_engine
from quinion.servers.http import LOOPBACK, Endpoint, serve
from quinion.servers.registry import CATALOG, Entry
from quinion.settings import Settings

ADDED = Path(__file__).parent / "added"
TOKEN = "toy token"

PROGRAM = """\
#!{python}
from quinion import servers
from quinion.cli.main import main
from quinion.servers.registry import CATALOG, Entry

servers.__path__.append({added!r})
CATALOG["toy"] = Entry("toy", lambda _: 0)
main()
"""
"""`quinion` with the toy, because `doctor` starts each server in a process of its own."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def add_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "__path__", [*servers.__path__, str(ADDED)])
    monkeypatch.setitem(CATALOG, "toy", Entry("toy", lambda _: 0))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home", workers=1, mirror="off", api_key=SecretStr(TOKEN))


@pytest.mark.anyio
async def test_it_answers_clients_of_the_home(settings: Settings) -> None:
    async with connect(settings, "toy") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["count_notes"]
        assert await call(client, "count_notes", {}) == {"status": "success", "notes": 0}


@pytest.mark.anyio
async def test_its_errors_have_its_own_format(settings: Settings) -> None:
    async with connect(settings, "toy") as client:
        answer = await call(client, "count_notes", {"color": "red"})
    assert answer["status"] == "toy error"
    assert "color" in answer["message"]


@pytest.mark.anyio
async def test_it_is_served_over_http_behind_the_token(settings: Settings) -> None:
    async with serve_toy(settings) as address:
        async with httpx2.AsyncClient(trust_env=False) as http:
            refused = await http.post(f"{address}/mcp")
            assert (refused.status_code, refused.json()["error"]["message"]) == (
                401,
                "No toys for you",
            )
            http.headers["Authorization"] = f"Bearer {TOKEN}"
            async with Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client:
                assert (await call(client, "count_notes", {}))["notes"] == 0


@asynccontextmanager
async def serve_toy(settings: Settings) -> AsyncIterator[str]:
    """Serve the toy on a free port and yield its address."""
    entry = CATALOG["toy"]
    send, receive = anyio.create_memory_object_stream[dict[str, str]](1)
    async with send, receive, open_engine(settings) as engine, open_socket_server(engine) as door:
        endpoint = Endpoint(
            entry.name, door.server(entry, settings), entry.load().word_refusal, LOOPBACK, 0
        )
        async with anyio.create_task_group() as group:
            group.start_soon(serve, [endpoint], settings, send.send)
            yield (await receive.receive())["toy"]
            signal.raise_signal(signal.SIGTERM)


@pytest.mark.anyio
async def test_doctor_starts_it_on_stdio(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "quinion"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(python=sys.executable, added=str(ADDED)))
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program.with_name("python")))
    monkeypatch.setattr("quinion.cli.doctor.servers.CATALOG", {"toy": CATALOG["toy"]})
    # The relay that doctor starts connects to this engine, because it holds the home.
    async with open_engine(settings) as engine, open_socket_server(engine):
        [finding] = await check_servers(settings)
    assert (finding.what, finding.well) == ("toy", True), finding
    assert "1 tools" in finding.found
    assert "0 records, no problems" in finding.found


def test_connect_writes_it_into_a_client(settings: Settings, tmp_path: Path) -> None:
    done = connect_clients(
        settings,
        "cursor",
        servers=["toy"],
        http=False,
        print_only=False,
        remove=False,
        project=tmp_path,
        as_json=True,
    )
    assert done == 0
    written = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]
    assert written["toy"]["args"] == ["stdio", "toy"]
