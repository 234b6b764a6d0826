"""An endpoint for all tests, and for each a front before it and a folder to write to."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from ocr_client import API_KEY, LOG, Session, environment, open_session
from ocr_front import Front


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`quinion serve ocr-api` in a process of its own, with the tests' key."""
    log = tmp_path_factory.mktemp("endpoint") / "endpoint.log"
    command = [str(Path(sys.executable).with_name("quinion")), "serve", "ocr-api", "--port", "0"]
    variables = environment({"MCP_API_KEY": API_KEY, "HOME": str(log.parent), "PYTHONPATH": None})
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command, env=variables, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        assert process.stdout is not None
        found = re.search(r"(http://\S+)/v1", process.stdout.readline())
        assert found, log.read_text()
        try:
            yield found[1]
        finally:
            process.terminate()
            assert process.wait(30) == 0, log.read_text()
    assert "Traceback" not in log.read_text(), log.read_text()


@dataclass(frozen=True)
class Place:
    """Where a test works: `allowed` may be written to, and nothing else in `outside`."""

    outside: Path
    allowed: Path

    def listing(self) -> list[str]:
        """All there is, but for the server's log."""
        return sorted(
            str(path.relative_to(self.outside))
            for path in self.outside.rglob("*")
            if path.name != LOG
        )

    def document(self, name: str = "report.pdf") -> str:
        """An input file that only a front looks at."""
        path = self.outside / name
        path.write_bytes(b"%PDF-1.7 a document")
        return str(path)

    def variables(self, url: str) -> dict[str, str | None]:
        """What a server is started with that may write here."""
        return {"MISTRAL_OCR_ALLOWED_DIR": str(self.allowed), "MISTRAL_SERVER_URL": url}

    def clear(self) -> None:
        """Take away what a test has made; the allowed folder stays the one it is."""
        for folder in (self.allowed, self.outside):
            for path in folder.iterdir():
                if path.is_dir() and not path.is_symlink():
                    if path != self.allowed:
                        shutil.rmtree(path)
                elif path.name != LOG:
                    path.unlink()


def _make_place(folder: Path) -> Place:
    (folder / "allowed").mkdir()
    return Place(folder, folder / "allowed")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return _make_place(tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="module")
def front() -> Iterator[Front]:
    """An API of its own, that answers what the test lays ready."""
    with Front(None).run() as running:
        yield running


@pytest.fixture(scope="module")
def forwarding(endpoint: str) -> Iterator[Front]:
    """A front before the real endpoint."""
    with Front(endpoint).run() as running:
        yield running


@pytest.fixture(scope="module")
def session(place: Place, front: Front) -> Iterator[Session]:
    """The server, talking to the front's own API. One for a module: each takes a second."""
    with open_session(place.outside, place.variables(front.url)) as running:
        yield running


@pytest.fixture(scope="module")
def real(place: Place, forwarding: Front) -> Iterator[Session]:
    """The server, talking to the real endpoint through a front."""
    with open_session(place.outside, place.variables(forwarding.url)) as running:
        yield running


@pytest.fixture(autouse=True)
def _tidy(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test finds its front without switches, and its place empty."""
    yield
    for name in ("front", "forwarding"):
        if name in request.fixturenames:
            request.getfixturevalue(name).reset()
    if "place" in request.fixturenames:
        request.getfixturevalue("place").clear()


@pytest.fixture
def own_place(tmp_path: Path) -> Place:
    """A place for a test that takes the allowed folder itself away."""
    return _make_place(tmp_path)


@pytest.fixture
def own_session(own_place: Place, front: Front) -> Iterator[Session]:
    """A server for such a test."""
    with open_session(own_place.outside, own_place.variables(front.url)) as running:
        yield running
