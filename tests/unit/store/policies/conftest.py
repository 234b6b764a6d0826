"""An empty registry in each place."""

from collections.abc import Iterator

import pytest

from tests.postgres_server import PostgresServer, postgres_server
from tests.redis_server import RedisServer, redis_server
from tests.unit.store.policies.places import ALL_PLACES


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(params=ALL_PLACES)
def address(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return ""
    if request.param == "postgres":
        database: PostgresServer = request.getfixturevalue("postgres")
        database.clear()
        return database.url
    server: RedisServer = request.getfixturevalue("redis")
    server.raw.flushall()
    return server.url
