"""A PostgreSQL server and a shared folder for the queue; each test has a database of its own."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

pytest.importorskip("procrastinate")

from quinion.queue.dispatcher import Dispatcher
from quinion.queue.tasks import Tasks
from quinion.store.bucket import Bucket
from tests.postgres_server import PROGRAMS, WHY_NOT, PostgresServer, postgres_server


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    if not PROGRAMS:
        pytest.skip(WHY_NOT)
    with postgres_server() as server:
        yield server


@pytest.fixture
def url(server: PostgresServer) -> str:
    return server.new_database()


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return f"file://{tmp_path}/shared"


@pytest.fixture
async def dispatcher(url: str, folder: str) -> AsyncIterator[Dispatcher]:
    dispatcher = Dispatcher(url, Bucket(folder))
    yield dispatcher
    await dispatcher.close()


@pytest.fixture
async def tasks(url: str) -> AsyncIterator[Tasks]:
    tasks = Tasks(url)
    await tasks.open()
    yield tasks
    await tasks.close()
