"""One server for each file of tests, in a home of its own.

Whatever has been indexed counts for all that comes after, so a test either begins with an
`empty` index or has texts of its own. A file that wants another sort of server has fixtures of
the same names.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.contract.conftest import NewHome
from tests.contract.docvec.asking import done
from tests.contract.local import LocalServer, Serve, Shared, run_local
from tests.contract.process import Home, HttpServer, Variables, run_http
from tests.contract.session import Session
from tests.ollama_server import OllamaServer, change, hold_batches, ollama_server

HTTP = ("docvec-mcp", "--http", "--port", "0")


@contextmanager
def serve_http(home: Home, variables: Variables | None = None) -> Iterator[HttpServer]:
    """DocVec over HTTP, in a process of its own."""
    with run_http(home, variables, HTTP) as server:
        yield server


@pytest.fixture(scope="session")
def serve(shared: Shared) -> Serve:
    """Runs DocVec in this process."""
    return partial(run_local, shared, "docvec")


def with_ollama(ollama: OllamaServer, **variables: str) -> Mapping[str, str]:
    """The variables of a server whose texts Ollama embeds."""
    return {"DOCVEC_BACKEND": "ollama", "DOCVEC_HOST": ollama.url, **variables}


@contextmanager
def holding(ollama: OllamaServer, *, after: int = 0) -> Iterator[None]:
    """Let texts of documents wait to be embedded, from the next request or a later one on, until
    the block ends. Queries do not wait."""
    ollama.arrived.clear()
    ollama.released.clear()
    ollama.fail(*[change(lambda rows: rows)] * after)
    ollama.always = hold_batches
    try:
        yield
    finally:
        ollama.always = None
        ollama.released.set()


@pytest.fixture(scope="module")
def home(new_home: NewHome) -> Home:
    return new_home()


@pytest.fixture(scope="module")
def server(home: Home, serve: Serve) -> Iterator[LocalServer]:
    with serve(home) as server:
        yield server


@pytest.fixture(scope="module")
def session(server: LocalServer) -> Iterator[Session]:
    with server.session() as session:
        yield session


@pytest.fixture
def empty(session: Session) -> Session:
    """The session, after all has been deleted that earlier tests have indexed."""
    done(session.call("clear_index", confirm=True))
    return session


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder for documents."""
    path = tmp_path / "documents"
    path.mkdir()
    return path


@pytest.fixture
def fresh_home(new_home: NewHome) -> Home:
    """A home of a test's own, for a server with other settings."""
    return new_home()


@pytest.fixture
def ollama() -> Iterator[OllamaServer]:
    """An embedding server of a test's own, which remembers what it was asked for."""
    with ollama_server() as server:
        yield server
