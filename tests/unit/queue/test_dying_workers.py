"""Workers that are killed, frozen or stopped: their tasks are done by others, once."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from quinion.errors import ExtractionFailed
from quinion.ingest.progress import no_progress
from quinion.ingest.source import Source
from quinion.queue.dispatcher import Dispatcher
from quinion.queue.sweeping import TRIES
from tests.queue_worker import KIND

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
BACK_S = 30.0
"""Longest time until the task of a dead worker is taken by another one."""

Start = Callable[[], "subprocess.Popen[bytes]"]


@pytest.fixture
def start(url: str, folder: str) -> Iterator[Start]:
    workers: list[subprocess.Popen[bytes]] = []

    def start_one() -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "tests.queue_worker", url, folder]
        workers.append(subprocess.Popen(command))
        return workers[-1]

    yield start_one
    for worker in workers:
        with suppress(ProcessLookupError):
            worker.send_signal(signal.SIGCONT)
        worker.kill()
        worker.wait()


@pytest.fixture
def source(tmp_path: Path) -> Source:
    path = tmp_path / "statement.pdf"
    path.write_bytes(b"content")
    return Source(path, path, hashlib.sha256(b"content").hexdigest())


async def wait_for(dispatcher: Dispatcher, count: int) -> None:
    with anyio.fail_after(60):
        while True:
            if await dispatcher.count_workers() >= count:
                return
            await anyio.sleep(0.05)


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSTOP"])
async def test_the_task_of_a_worker_that_dies_is_taken_by_another(
    dispatcher: Dispatcher, start: Start, source: Source, tmp_path: Path, number: str
) -> None:
    first, second = start(), start()
    await wait_for(dispatcher, 2)
    log = tmp_path / "log"
    arguments = {"signal": number, "once": str(tmp_path / "once"), "log": str(log)}
    before = time.monotonic()
    found = await dispatcher.run(KIND, source, arguments, no_progress)
    assert found
    pid, name = found
    assert time.monotonic() - before < BACK_S
    assert (pid, name) in [(first.pid, source.path.name), (second.pid, source.path.name)]
    tried = [int(line.split()[0]) for line in log.read_text().splitlines()]
    assert sorted(tried) == sorted([first.pid, second.pid])
    frozen = first if pid == second.pid else second
    if number == "SIGSTOP":  # it goes on, finds the task done, and takes others
        frozen.send_signal(signal.SIGCONT)
        found = await dispatcher.run(KIND, source, {"seconds": 0.1}, no_progress)
        assert found
        assert found[0] in [first.pid, second.pid]


async def test_a_file_that_kills_its_workers_fails_after_three_tries(
    dispatcher: Dispatcher, start: Start, source: Source, tmp_path: Path
) -> None:
    log = tmp_path / "log"

    async def replace() -> None:
        """Start another worker for each that dies, as a supervisor does."""
        worker = start()
        while True:
            if worker.poll() is not None:
                worker = start()
            await anyio.sleep(0.1)

    async with anyio.create_task_group() as group:
        group.start_soon(replace)
        await wait_for(dispatcher, 1)
        with pytest.raises(ExtractionFailed, match=r"statement\.pdf could not .* 3 workers died"):
            await dispatcher.run(KIND, source, {"signal": "SIGKILL", "log": str(log)}, no_progress)
        group.cancel_scope.cancel()
    assert len(log.read_text().splitlines()) == TRIES


async def test_a_worker_that_is_stopped_gives_its_task_back_at_once(
    dispatcher: Dispatcher, start: Start, source: Source, tmp_path: Path
) -> None:
    first = start()
    await wait_for(dispatcher, 1)
    log = tmp_path / "log"
    found = []

    async def run() -> None:
        arguments = {"seconds": 8, "log": str(log)}
        found.append(await dispatcher.run(KIND, source, arguments, no_progress))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        with anyio.fail_after(20):
            while not log.exists():  # noqa: ASYNC110
                await anyio.sleep(0.05)
        second = start()
        os.kill(first.pid, signal.SIGTERM)
        assert await anyio.to_thread.run_sync(first.wait, 20) == 0
    assert found == [[second.pid, source.path.name]]


async def test_the_server_does_a_task_that_no_worker_is_left_for(
    dispatcher: Dispatcher, start: Start, source: Source
) -> None:
    start()
    await wait_for(dispatcher, 1)
    with anyio.fail_after(60):
        assert await dispatcher.run(KIND, source, {"signal": "SIGKILL"}, no_progress) is None
