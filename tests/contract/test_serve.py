"""`quinion serve`: five servers in one process."""

import json
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.contract.conftest import NewHome
from tests.contract.process import (
    SCRIPTS,
    STOPPING_S,
    Home,
    plain_client,
    run_http,
    run_stdio,
    run_to_end,
)
from tests.contract.session import open_session

PORTS = {
    f"{name}_PORT": "0"
    for name in (
        *("DOCUMENT_STORE", "POLICY_KB", "DOCVEC", "DOCLIBRARY", "MISTRAL_OCR"),
        "QUINION_CONSOLE",
    )
}
ALL = ["console", "document-store", "policy-kb", "docvec", "doclibrary", "mistral-ocr"]
BAD_SETTING = 3


@pytest.fixture
def home(new_home: NewHome) -> Home:
    return new_home()


@pytest.fixture
def mistral(tmp_path: Path) -> dict[str, str]:
    return {"MISTRAL_API_KEY": "a-key", "MISTRAL_OCR_ALLOWED_DIR": str(tmp_path)}


@contextmanager
def serve_all(home: Home, variables: dict[str, str]) -> Iterator[dict[str, str]]:
    """Start all servers and yield their printed addresses by server."""
    with (
        (home.files / "server.log").open("a") as log,
        subprocess.Popen(
            [SCRIPTS / "quinion", "serve"],
            env=home.environment({**PORTS, **variables}),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            addresses = {}
            for line in lines:
                name, rest = line.split(maxsplit=1)
                if name == "home":
                    break
                found = re.match(r"(http://\S+)/(mcp|\?key=\S+)", rest)
                assert found, line
                addresses[name] = found[0] if name == "console" else found[1]
            yield addresses
        finally:
            process.terminate()
            assert process.wait(STOPPING_S) == 0


@pytest.mark.slow
def test_all_five_are_well_within_ten_seconds(home: Home, mistral: dict[str, str]) -> None:
    began = time.monotonic()
    with serve_all(home, mistral) as addresses, plain_client() as client:
        assert list(addresses) == ALL
        opened = client.get(addresses.pop("console"))
        assert opened.status_code == 200
        assert "httponly" in opened.headers["set-cookie"].lower()
        for address in addresses.values():
            assert client.get(f"{address}/health").json() == {"status": "ok"}
        assert time.monotonic() - began < 10
        with open_session(f"{addresses['mistral-ocr']}/mcp") as session:
            assert set(session.tools) == {"extract_markdown", "extract_markdown_with_images"}


@pytest.mark.slow
def test_what_is_not_configured_is_left_out(home: Home) -> None:
    with serve_all(home, {}) as addresses:
        assert list(addresses) == ALL[:-1]


@pytest.mark.slow
def test_mistral_ocr_alone_needs_no_home(home: Home, mistral: dict[str, str]) -> None:
    command = ("quinion", "serve", "mistral-ocr", "--port", "0")
    with run_http(home, mistral, command) as server:
        assert server.request("GET", "/health").status_code == 200
        assert not (home.path / "engine.lock").exists()
    ended = run_to_end(home, {}, *command[1:], program="quinion")
    assert ended.returncode == BAD_SETTING
    assert "MISTRAL_API_KEY" in ended.stderr.splitlines()[-1]


def test_mistral_ocr_on_stdio(home: Home, mistral: dict[str, str]) -> None:
    with run_stdio(home, mistral, ("quinion", "stdio", "mistral-ocr"), alone=False) as session:
        assert set(session.tools) == {"extract_markdown", "extract_markdown_with_images"}


@pytest.mark.slow
def test_the_servers_start_without_the_console_if_its_port_is_in_use(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        variables = {"QUINION_CONSOLE_PORT": str(taken.getsockname()[1])}
        with serve_all(home, variables) as addresses:
            assert list(addresses) == ALL[1:-1]
    log = (home.files / "server.log").read_text()
    assert "console cannot listen" in log
    assert "Served without it." in log


@pytest.mark.slow
def test_open_starts_the_console_and_the_next_one_finds_it(home: Home) -> None:
    variables = {**PORTS, "BROWSER": "true", "QUINION_IDLE_SECONDS": "60"}
    try:
        first = run_to_end(home, variables, "open", program="quinion")
        assert first.returncode == 0, first.stderr
        second = run_to_end(home, variables, "open", "--json", program="quinion")
        again = json.loads(second.stdout)["address"]
        with plain_client() as client:
            for address in (first.stdout.strip(), again):
                assert "set-cookie" in client.get(address).headers
        assert again.partition("/?key=")[0] == first.stdout.partition("/?key=")[0]
    finally:
        stopped = run_to_end(home, variables, "stop", program="quinion")
    assert stopped.stdout.startswith("Stopped: ")
