"""`quinion serve ocr-api` in a process of its own, with a key and a folder for its files."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.contract.process import SCRIPTS, STOPPING_S, Home

KEY = "sk-local"
OK = 0


@dataclass(frozen=True)
class Endpoint:
    address: str
    process: "subprocess.Popen[str]"
    scratch: Path
    log: Path

    def client(self, key: str | None = KEY) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx2.Client(base_url=self.address, headers=headers, timeout=120, verify=False)

    def files(self) -> list[str]:
        """What is in its folder for files, at any depth."""
        return sorted(path.name for path in self.scratch.rglob("*") if path.is_file())


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    files = tmp_path_factory.mktemp("ocr-api")
    scratch = files / "scratch"
    scratch.mkdir()
    variables = {"MCP_API_KEY": KEY, "TMPDIR": str(scratch), "QUINION_WORKERS": "2"}
    log = files / "server.log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [str(SCRIPTS / "quinion"), "serve", "ocr-api", "--port", "0"],
            env=Home(files / "home", files).environment(variables),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        found = re.search(r"(http://\S+)/v1", process.stdout.readline())
        assert found, log.read_text()
        try:
            yield Endpoint(found[1], process, scratch, log)
        finally:
            process.terminate()
            status = process.wait(STOPPING_S)
    assert status == OK, log.read_text()
    assert "Traceback" not in log.read_text(), log.read_text()
    assert list(scratch.iterdir()) == [], "its folder is gone with it"


@pytest.fixture
def client(endpoint: Endpoint) -> Iterator[httpx2.Client]:
    with endpoint.client() as client:
        yield client
