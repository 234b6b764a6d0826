import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from quinion.errors import ExtractionFailed, QuinionError, StoreUnavailable
from quinion.ingest.engine_resources import Arguments, DoTask
from quinion.ingest.progress import Progress, no_progress
from quinion.ingest.source import Source
from quinion.queue import runner as runners
from quinion.queue.dispatcher import Dispatcher
from quinion.queue.runner import Runner
from quinion.queue.schema import migrate
from quinion.queue.sweeping import TRIES
from quinion.queue.tasks import Tasks
from quinion.store.bucket import Bucket
from tests.postgres_server import execute

pytestmark = pytest.mark.anyio
CONTENT = b"a planning statement"


@pytest.fixture
def source(tmp_path: Path) -> Source:
    path = tmp_path / "statement.pdf"
    path.write_bytes(CONTENT)
    return Source(path, path, hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat failed tries without a pause, and log nothing that other tests take for a failure."""
    monkeypatch.setattr(runners.log, "propagate", False)
    monkeypatch.setattr(runners._Again, "__init__", _without_pause)


def _without_pause(again: Any, _: int) -> None:
    again.wait = timedelta()


@asynccontextmanager
async def running(url: str, folder: str, do: DoTask) -> AsyncIterator[None]:
    """Run a worker in this process."""
    tasks = Tasks(url)
    await tasks.open()
    async with anyio.create_task_group() as group:
        runner = Runner(tasks, Bucket(folder), {"test": do})
        group.start_soon(runner.serve)
        await until(tasks.count_workers)
        yield
        runner.stop()
    await tasks.close()


async def until(check: Callable[[], Awaitable[object]]) -> None:
    """Wait until this is true."""
    with anyio.fail_after(20):
        while True:
            if await check():
                return
            await anyio.sleep(0.01)


async def read(source: Source, arguments: Arguments, progress: Progress) -> Any:
    await progress(1, 2, "read page 1 of 1")
    text = await anyio.Path(source.real_path).read_text()
    return [text, str(source.path), dict(arguments)]


def incoming(folder: str) -> list[str]:
    return [key for key, _ in Bucket(folder).list("incoming")]


async def test_without_a_worker_the_server_does_the_task(
    dispatcher: Dispatcher, source: Source, folder: str
) -> None:
    assert await dispatcher.count_workers() == 0
    assert await dispatcher.run("test", source, {}, no_progress) is None
    assert incoming(folder) == []


async def test_a_worker_does_the_task_with_its_own_copy_of_the_file(
    dispatcher: Dispatcher, source: Source, url: str, folder: str
) -> None:
    seen = []

    async def progress(done: float, total: float, message: str) -> None:
        seen.append((done, total, message))

    async with running(url, folder, read):
        found = await dispatcher.run("test", source, {"ref": "25/1"}, progress)
    assert found == [CONTENT.decode(), str(source.path), {"ref": "25/1"}]
    assert seen in ([], [(1, 2, "read page 1 of 1")])  # the end may come first
    assert incoming(folder) == []
    assert execute(url, "SELECT count(*) FROM quinion_queue.tasks") == [(0,)]
    assert execute(url, "SELECT count(*) FROM quinion_queue.procrastinate_jobs") == [(0,)]


async def test_the_error_of_a_document_is_returned_at_once(
    dispatcher: Dispatcher, source: Source, url: str, folder: str
) -> None:
    calls = []

    async def fail(source: Source, _: Arguments, __: Progress) -> Any:
        calls.append(source)
        raise ExtractionFailed("The file is damaged.")

    async with running(url, folder, fail):
        with pytest.raises(ExtractionFailed, match=r"^The file is damaged\.$"):
            await dispatcher.run("test", source, {}, no_progress)
    assert len(calls) == 1
    assert incoming(folder) == []


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (StoreUnavailable("The database is down."), StoreUnavailable, "The database is down."),
        (ValueError("oops"), QuinionError, "Ingesting statement.pdf failed: ValueError: oops"),
    ],
)
async def test_another_error_is_returned_after_three_tries(
    dispatcher: Dispatcher,
    source: Source,
    url: str,
    folder: str,
    error: Exception,
    kind: type[QuinionError],
    message: str,
) -> None:
    calls = []

    async def fail(source: Source, _: Arguments, __: Progress) -> Any:
        calls.append(source)
        raise error

    async with running(url, folder, fail):
        with pytest.raises(kind) as raised:
            await dispatcher.run("test", source, {}, no_progress)
    assert str(raised.value) == message
    assert len(calls) == TRIES
    assert incoming(folder) == []


async def test_an_error_that_passes_is_not_seen(
    dispatcher: Dispatcher, source: Source, url: str, folder: str
) -> None:
    calls = []

    async def fail_once(source: Source, arguments: Arguments, progress: Progress) -> Any:
        calls.append(source)
        if len(calls) == 1:
            raise StoreUnavailable("The database is down.")
        return await read(source, arguments, progress)

    async with running(url, folder, fail_once):
        assert await dispatcher.run("test", source, {}, no_progress)
    assert len(calls) == 2


async def test_a_cancelled_call_is_cancelled_in_the_worker(
    dispatcher: Dispatcher, source: Source, url: str, folder: str
) -> None:
    started, ended = anyio.Event(), anyio.Event()

    async def wait(_: Source, __: Arguments, ___: Progress) -> Any:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async with running(url, folder, wait):
        async with anyio.create_task_group() as group:
            group.start_soon(dispatcher.run, "test", source, {}, no_progress)
            await started.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(10):
            await ended.wait()
    assert incoming(folder) == []
    assert execute(url, "SELECT count(*) FROM quinion_queue.tasks") == [(0,)]


async def test_a_task_that_is_delivered_twice_is_done_once(
    source: Source, url: str, folder: str, tasks: Tasks
) -> None:
    calls = []

    async def count(source: Source, _: Arguments, __: Progress) -> Any:
        calls.append(source)
        return len(calls)

    Bucket(folder).upload("incoming/one", source.real_path, source.sha256)
    async with running(url, folder, count):
        await tasks.add("one", "test", str(source.path), source.sha256, {})

        async def is_done() -> bool:
            return execute(url, "SELECT count(*) FROM quinion_queue.procrastinate_jobs") == [(0,)]

        await until(is_done)
        assert len(calls) == 1
        deferrer = tasks.app.configure_task("ingest", queue="ingest")
        await deferrer.defer_async(task="one")
        await until(is_done)
    assert len(calls) == 1
    state = await tasks.state("one")
    assert state and state.outcome == {"result": 1}


async def test_an_outcome_is_never_replaced(tasks: Tasks) -> None:
    await tasks.add("one", "test", "/a.pdf", "hash", {})
    await tasks.finish("one", {"result": 1})
    await tasks.finish("one", {"result": 2})
    await tasks.report("one", 1, 2, "late")
    state = await tasks.state("one")
    assert state and (state.outcome, state.message) == ({"result": 1}, "")


async def test_a_changed_file_is_not_handed_over(
    dispatcher: Dispatcher, source: Source, url: str, folder: str
) -> None:
    async with running(url, folder, read):
        source.real_path.write_bytes(b"something else")
        with pytest.raises(ExtractionFailed, match=r"statement\.pdf changed"):
            await dispatcher.run("test", source, {}, no_progress)
    assert incoming(folder) == []


async def test_the_schema_is_made_once_and_migrated(url: str) -> None:
    for _ in range(2):
        await anyio.to_thread.run_sync(migrate, url)
    last = "(SELECT max(name) FROM quinion_queue.applied_migrations)"
    count = "SELECT count(*) FROM quinion_queue.applied_migrations"
    before = execute(url, count)
    # As if procrastinate had grown: its last migration replaces functions, and can be repeated.
    execute(url, f"DELETE FROM quinion_queue.applied_migrations WHERE name = {last}")
    await anyio.to_thread.run_sync(migrate, url)
    assert execute(url, count) == before


async def test_a_database_that_is_down_is_an_error_with_its_reason(
    source: Source, folder: str
) -> None:
    dispatcher = Dispatcher("postgresql://me:secret@127.0.0.1:1/none", Bucket(folder))
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1/none does not answer") as raised:
        await dispatcher.run("test", source, {}, no_progress)
    assert "secret" not in str(raised.value)
