"""A library that is filled once, and copied for each file of tests.

A file that changes the library has a server of its own, so that the others know what is there.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.contract.conftest import NewHome
from tests.contract.doclibrary.asking import add
from tests.contract.doclibrary.documents import appendices, survey
from tests.contract.local import LocalServer, Serve, Shared, run_local
from tests.contract.process import Home, HttpServer, Variables, run_http
from tests.contract.session import Session
from tests.postgres_server import copy_database

HTTP = ("doclibrary-mcp", "--http", "--port", "0")
STDIO = ("doclibrary-mcp",)


@contextmanager
def serve_http(home: Home, variables: Variables | None = None) -> Iterator[HttpServer]:
    """doclibrary over HTTP, in a process of its own."""
    with run_http(home, variables, HTTP) as server:
        yield server


@pytest.fixture(scope="session")
def serve(shared: Shared) -> Serve:
    """Runs doclibrary in this process."""
    return partial(run_local, shared, "doclibrary")


@pytest.fixture(scope="session")
def stock(new_home: NewHome, serve: Serve) -> Home:
    """A home with the survey and the appendices in its library; nobody may change it."""
    home = new_home()
    with serve(home) as server, server.session(command=True) as session:
        add(session, survey(home.files / "survey.pdf"))
        add(session, appendices(home.files / "Appendices.pdf"))
    return home


@pytest.fixture(scope="session")
def new_library(new_home: NewHome, stock: Home) -> NewHome:
    """Makes a home with that library."""

    def make() -> Home:
        home = new_home()
        for path in stock.path.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.copytree(path, home.path / path.name)
            elif path.name != "models":
                shutil.copy(path, home.path)
        if stock.database:
            return replace(home, database=copy_database(stock.database))
        return home

    return make


@pytest.fixture(scope="module")
def home(new_library: NewHome) -> Home:
    return new_library()


@pytest.fixture(scope="module")
def server(home: Home, serve: Serve) -> Iterator[LocalServer]:
    with serve(home) as server:
        yield server


@pytest.fixture(scope="module")
def session(server: LocalServer) -> Iterator[Session]:
    """A session of a command, which can also add and remove documents."""
    with server.session(command=True) as session:
        yield session


@pytest.fixture
def fresh_home(new_home: NewHome) -> Home:
    """A home with nothing in it."""
    return new_home()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder for documents."""
    path = tmp_path / "documents"
    path.mkdir()
    return path
