"""Homes for servers, with the model prepared once for all of them."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from quinion.embed.local.weights import prepare
from quinion.servers.registry import CATALOG
from tests.contract.local import Shared, run_local, share
from tests.contract.process import Home
from tests.contract.session import Session
from tests.postgres_server import postgres_server

NewHome = Callable[[], Home]


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model as a server prepares it in its home at first use.

    All pytest-xdist workers share one folder, because it has a hundred megabytes. Concurrent
    preparation is harmless.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "models"
    prepare(folder)
    return folder


@pytest.fixture(scope="session")
def shared(models: Path) -> Iterator[Shared]:
    """What the servers in this process share."""
    with share(models) as shared:
        yield shared


@pytest.fixture(scope="session")
def new_home(
    tmp_path_factory: pytest.TempPathFactory, models: Path, request: pytest.FixtureRequest
) -> Iterator[NewHome]:
    """Factory of homes that contain only the model, and are not mirrored to Chroma.

    With the option --postgres, the store of each is in a database.
    """
    with ExitStack() as stack:
        server = None
        if request.config.getoption("postgres"):
            server = stack.enter_context(postgres_server())

        def make() -> Home:
            files = tmp_path_factory.mktemp("files")
            database = server.new_database() if server else None
            home = Home(files / "home", files, mirrored=False, database=database)
            home.path.mkdir()
            (home.path / "models").symlink_to(models)
            return home

        yield make


@pytest.fixture(scope="module")
def sessions(shared: Shared, new_home: NewHome) -> Iterator[dict[str, Session]]:
    """A session with each server of the catalog, by name."""
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(run_local(shared, name, new_home())) for name in CATALOG
        }
        yield {name: stack.enter_context(server.session()) for name, server in servers.items()}
