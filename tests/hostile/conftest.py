"""Servers for hostile files, started once per test module."""

from collections.abc import Iterator

import pytest

from tests.contract.conftest import NewHome, models, new_home
from tests.contract.process import Home
from tests.hostile.serving import Servers, run_servers

__all__ = ["models", "new_home"]


@pytest.fixture(scope="module")
def home(new_home: NewHome) -> Home:
    return new_home()


@pytest.fixture(scope="module")
def servers(home: Home) -> Iterator[Servers]:
    with run_servers(home) as servers:
        yield servers
