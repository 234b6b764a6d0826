"""Homes for servers, with the model made ready once for all of them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from quinion.embed.local.weights import prepare
from tests.contract.process import Home

NewHome = Callable[[], Home]


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model as a server would make it ready in its home at the first use.

    One folder for all workers of pytest-xdist: it is a hundred megabytes, and several that
    make it at once do no harm.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "models"
    prepare(folder)
    return folder


@pytest.fixture(scope="session")
def new_home(tmp_path_factory: pytest.TempPathFactory, models: Path) -> NewHome:
    """Makes a home with nothing in it but the model."""

    def make() -> Home:
        files = tmp_path_factory.mktemp("files")
        home = Home(files / "home", files)
        home.path.mkdir()
        (home.path / "models").symlink_to(models)
        return home

    return make
