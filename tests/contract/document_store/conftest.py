"""One server with default settings, in a home of its own, for all tests that one worker runs.

It is shared, so each test has applications of its own. A file that wants another sort of
server, or one with nothing else in it, has fixtures of the same names.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.contract.conftest import NewHome
from tests.contract.local import LocalServer, Serve, Shared, run_local
from tests.contract.process import Home, HttpServer, run_http
from tests.contract.session import Session


@pytest.fixture(scope="session")
def serve(shared: Shared) -> Serve:
    """Runs a Document Store in this process."""
    return partial(run_local, shared, "document-store")


@pytest.fixture(scope="session")
def server(new_home: NewHome, serve: Serve) -> Iterator[LocalServer]:
    with serve(new_home()) as server:
        yield server


@pytest.fixture(scope="session")
def http_server(new_home: NewHome) -> Iterator[HttpServer]:
    """A server over HTTP in a process of its own."""
    with run_http(new_home()) as server:
        yield server


@pytest.fixture(scope="session")
def session(server: LocalServer) -> Iterator[Session]:
    with server.session() as session:
        yield session


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the documents of a file's tests are made."""
    return tmp_path_factory.mktemp("files")


@pytest.fixture
def fresh_home(new_home: NewHome) -> Home:
    """A home of a test's own, for a server with other settings."""
    return new_home()
