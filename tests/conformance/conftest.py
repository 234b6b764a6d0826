"""The app under test, in a separate process."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.tools import find_node
from tests.contract.conftest import models, new_home  # noqa: F401 - fixtures of these tests too

TOKEN = "correct-horse-battery-staple"


@pytest.fixture(scope="session")
def node() -> str:
    return find_node()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start quinion's app with the suite's fixtures and a token; yields its address."""
    log = tmp_path_factory.mktemp("app") / "app.log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "tests.conformance.suite.server"],
            cwd=Path(__file__).parents[2],
            env={"PATH": os.environ["PATH"], "MCP_API_KEY": TOKEN},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address.startswith("http://"), log.read_text()
            yield address
        finally:
            process.terminate()
            status = process.wait(30)
    assert status == 0, log.read_text()
