"""`mistral-ocr-mcp --http`: the same server over HTTP, with the protection of quinion's servers."""

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from anyio.from_thread import start_blocking_portal
from conftest import Place
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from ocr_client import COMMAND, LOG, Session, Variables, environment
from ocr_front import Front

TOKEN = "correct-horse-battery-staple"
UNAUTHORIZED = {
    "error": {"code": "unauthorized", "message": "Missing or invalid authentication token"}
}


@contextmanager
def run_http(place: Place, variables: Variables, *options: str) -> Iterator[str]:
    """Start the server on a free port; its address."""
    log = place.outside / LOG
    with (
        log.open("a") as errors,
        subprocess.Popen(
            [*COMMAND, "--http", *(options or ("--port", "0"))],
            env=environment(variables),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            found = re.search(r"(http://\S+)/mcp", process.stdout.readline())
            assert found, log.read_text()
            yield found[1]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
    assert "Traceback" not in log.read_text(), log.read_text()


@pytest.fixture(scope="module")
def address(place: Place, front: Front) -> Iterator[str]:
    with run_http(place, {**place.variables(front.url), "MCP_API_KEY": TOKEN}) as address:
        yield address


@contextmanager
def open_session(address: str, transport: str, log: Path) -> Iterator[Session]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    http = httpx2.AsyncClient(headers=headers, verify=False)
    streams = (
        sse_client(f"{address}/sse", headers)
        if transport == "sse"
        else streamable_http_client(f"{address}/mcp", http_client=http)
    )
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(streams)) as client,
    ):
        yield Session(portal, client, log)
        portal.call(http.aclose)


@pytest.mark.parametrize("transport", ["http", "sse"])
def test_the_two_tools_work(address: str, place: Place, front: Front, transport: str) -> None:
    front.lay_ready({"index": 0, "markdown": "# Hello", "images": [], "dimensions": None})
    with open_session(address, transport, place.outside / LOG) as session:
        assert sorted(session.tools) == ["extract_markdown", "extract_markdown_with_images"]
        assert session.call("extract_markdown", file_path=place.document()).text == "# Hello"


def test_health_needs_no_token_and_everything_else_does(address: str) -> None:
    with httpx2.Client(verify=False) as client:
        assert client.get(f"{address}/health").json() == {"status": "ok"}
        for method, path in (("POST", "/mcp"), ("GET", "/sse"), ("POST", "/messages/")):
            for given in (
                {},
                {"Authorization": "Bearer wrong"},
                {"Authorization": f"Basic {TOKEN}"},
            ):
                answer = client.request(method, address + path, headers=given)
                assert (answer.status_code, answer.json()) == (401, UNAUTHORIZED)


def test_a_foreign_host_name_is_refused(address: str) -> None:
    given = {"Authorization": f"Bearer {TOKEN}", "Host": "evil.example"}
    with httpx2.Client(verify=False) as client:
        answer = client.post(f"{address}/mcp", headers=given, json={})
    assert answer.status_code == 421


def test_without_a_token_only_this_machine_is_served_and_that_is_said(place: Place) -> None:
    with run_http(place, place.variables("http://127.0.0.1:9")) as address:
        assert address.startswith("http://127.0.0.1:")
    assert "MCP_API_KEY is not set" in (place.outside / LOG).read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "port", "words"),
    [
        (["--http"], "no port", "MISTRAL_OCR_PORT is not a port: 'no port'"),
        (["--http", "--port", "99999"], None, "cannot be listened on"),
        (["--port", "3006"], None, "--host and --port need --http"),
    ],
)
def test_a_wrong_port_is_refused(
    place: Place, options: list[str], port: str | None, words: str
) -> None:
    variables = {**place.variables("http://127.0.0.1:9"), "MISTRAL_OCR_PORT": port}
    ended = subprocess.run(
        [*COMMAND, *options],
        env=environment(variables),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode != 0
    assert words in ended.stderr.splitlines()[-1]
