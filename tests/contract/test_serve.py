"""`quinion serve`: five servers in one process."""

import re
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
    for name in ("DOCUMENT_STORE", "POLICY_KB", "DOCVEC", "DOCLIBRARY", "MISTRAL_OCR")
}
ALL = ["document-store", "policy-kb", "docvec", "doclibrary", "mistral-ocr"]
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
                found = re.match(r"(http://\S+)/mcp", rest)
                assert found, line
                addresses[name] = found[1]
            yield addresses
        finally:
            process.terminate()
            assert process.wait(STOPPING_S) == 0


@pytest.mark.slow
def test_all_five_are_well_within_ten_seconds(home: Home, mistral: dict[str, str]) -> None:
    began = time.monotonic()
    with serve_all(home, mistral) as addresses, plain_client() as client:
        assert list(addresses) == ALL
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
