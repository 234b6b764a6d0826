"""Configuration written by `quinion connect`, used exactly as a client uses it."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.contract.conftest import NewHome
from tests.contract.process import Home, run_http, run_to_end, wait_until_free
from tests.contract.session import open_session
from tests.documents import PROSE, text_pdf

TOKEN = {"MCP_API_KEY": "a-token"}


@pytest.fixture
def place(new_home: NewHome) -> Home:
    return new_home()


def connect(home: Home, *arguments: str, **variables: str) -> dict[str, Any]:
    """Return the configuration that the command reports as written."""
    ended = run_to_end(home, variables, "connect", *arguments, "--json", program="quinion")
    assert ended.returncode == 0, ended.stderr
    return dict(json.loads(ended.stdout))


@pytest.mark.slow
def test_the_written_command_starts_a_server_that_answers(place: Home, tmp_path: Path) -> None:
    done = connect(place, "claude-desktop", QUINION_MIRROR="on")
    config = json.loads(Path(done["file"]).read_text())
    document = text_pdf(tmp_path / "Letter.pdf", PROSE)
    for name, tool, arguments in (
        ("document-store", "ingest_document", {"application_ref": "A/1"}),
        ("docvec", "index_file", {}),
    ):
        entry = config["mcpServers"][name]
        # The SDK passes what clients pass: HOME, PATH and the like, and the entry's variables.
        parameters = StdioServerParameters(
            command=entry["command"], args=entry["args"], env=entry["env"], cwd=tmp_path
        )
        with open_session(stdio_client(parameters)) as session:
            assert session.tools
            answer = session.call(tool, file_path=str(document), **arguments)
        assert not answer.get("error"), answer
        assert answer.get("status") != "error", answer
    wait_until_free(place)
    assert (place.path / "chroma").is_dir()


def test_the_written_address_leads_to_a_server_that_answers(place: Home) -> None:
    command = ("quinion", "serve", "docvec", "--port", "0")
    with run_http(place, TOKEN, command) as server:
        done = connect(place, "cursor", "--http", **TOKEN)
        config = json.loads(Path(done["file"]).read_text())
        [(name, entry)] = config["mcpServers"].items()
        assert name == "docvec"
        assert entry["url"] == f"{server.address}/mcp"
        # As Cursor does.
        header = entry["headers"]["Authorization"].replace("${env:MCP_API_KEY}", "a-token")
        with server.session(token=header.removeprefix("Bearer ")) as session:
            assert session.call("get_index_stats")["success"] is True
        assert server.request("POST", "/mcp").status_code == httpx2.codes.UNAUTHORIZED


def test_serve_prints_how_to_connect(place: Home) -> None:
    command = ("quinion", "serve", "docvec", "--port", "0")
    with run_http(place, {}, command) as server:
        assert server.process.stdout is not None
        lines = [server.process.stdout.readline() for _ in range(3)]
    assert str(place.path) in lines[0]
    assert "quinion connect claude-desktop" in lines[2]
