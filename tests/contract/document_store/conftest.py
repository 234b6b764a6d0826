"""One server for the tests of a file, in a home of its own; a file that wants another sort of
server has a fixture of the same name."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.conftest import NewHome
from tests.contract.process import Home, HttpServer, run_http
from tests.contract.session import Session


@pytest.fixture(scope="module")
def home(new_home: NewHome) -> Home:
    return new_home()


@pytest.fixture(scope="module")
def files(home: Home) -> Path:
    """Where the documents of a file's tests are made."""
    return home.files


@pytest.fixture(scope="module")
def server(home: Home) -> Iterator[HttpServer]:
    with run_http(home) as server:
        yield server


@pytest.fixture(scope="module")
def session(server: HttpServer) -> Iterator[Session]:
    with server.session() as session:
        yield session
