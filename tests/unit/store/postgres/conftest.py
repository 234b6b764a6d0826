"""One PostgreSQL server for these tests; each store has a database of its own."""

from collections.abc import Iterator

import pytest

from tests.postgres_server import PROGRAMS, WHY_NOT, PostgresServer, postgres_server


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    if not PROGRAMS:
        pytest.skip(WHY_NOT)
    with postgres_server() as server:
        yield server


@pytest.fixture
def url(server: PostgresServer) -> str:
    """The address of an empty database."""
    server.clear()
    return server.url
