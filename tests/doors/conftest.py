"""Servers with a token, and a folder that they may read."""

from collections.abc import Iterator

import pytest

from tests.contract.conftest import NewHome, models, new_home  # noqa: F401 - fixtures here too
from tests.doors.house import House, open_house


@pytest.fixture(scope="session")
def house(new_home: NewHome) -> Iterator[House]:  # noqa: F811
    with open_house(new_home(), {}) as house:
        yield house
