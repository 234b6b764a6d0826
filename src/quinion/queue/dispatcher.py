"""Dispatcher: the server's side of the queue. Hands files over to workers and waits for them."""

import time
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import anyio

from quinion import errors
from quinion.concurrency import in_thread
from quinion.errors import QuinionError, StoreUnavailable
from quinion.ingest.engine_resources import Arguments
from quinion.ingest.progress import Progress
from quinion.ingest.source import Source
from quinion.queue.sweeping import INCOMING, drop_incoming, give_back
from quinion.queue.tasks import Tasks
from quinion.store.bucket import Bucket

MIN_WAIT_S, MAX_WAIT_S = 0.05, 0.5
"""Time between two looks at a task. It grows with the time that the task takes."""
WAIT_SHARE = 0.1
CHECK_S = 5.0
"""Time between two looks at the workers."""


class Dispatcher:
    """Implements `ingest.engine_resources.HandOver`. It connects at its first use."""

    def __init__(self, url: str, bucket: Bucket) -> None:
        self._url = url
        self._bucket = bucket
        self._tasks: Tasks | None = None
        self._opening = anyio.Lock()

    async def close(self) -> None:
        """Close the connections."""
        if self._tasks:
            await self._tasks.close()

    async def count_workers(self) -> int:
        """Count the workers that are alive."""
        return await (await self._open()).count_workers()

    async def run(
        self, kind: str, source: Source, arguments: Arguments, progress: Progress
    ) -> Any | None:
        tasks = await self._open()
        if not await tasks.count_workers():
            return None
        id_ = uuid4().hex
        job = None
        try:
            await in_thread(
                self._bucket.upload, f"{INCOMING}/{id_}", source.real_path, source.sha256
            )
            job = await tasks.add(id_, kind, str(source.path), source.sha256, arguments)
            outcome = await self._wait(tasks, id_, job, progress)
        except BaseException:  # also when the client has cancelled the call
            with anyio.CancelScope(shield=True):
                if job is not None:
                    await tasks.cancel(job, running=True)
                    await tasks.remove(id_)
                await drop_incoming(self._bucket, id_)
            raise
        await tasks.remove(id_)
        if outcome is None:
            await drop_incoming(self._bucket, id_)
            return None
        if "error" in outcome:
            raise _restore(outcome["error"])
        return outcome["result"]

    async def _wait(
        self, tasks: Tasks, id_: str, job: int, progress: Progress
    ) -> Mapping[str, Any] | None:
        """Wait for the outcome; `None` if no worker is left that could take the task."""
        started = checked = time.monotonic()
        reported, was_queued = None, True
        while True:
            state = await tasks.state(id_)
            if state and state.outcome is not None:
                return state.outcome
            if state is None or not (state.is_queued or was_queued):
                raise StoreUnavailable(
                    "The document was taken out of the queue before it was ingested. Try again."
                )
            was_queued = state.is_queued
            if state.total and (state.done, state.message) != reported:
                reported = state.done, state.message
                await progress(state.done, state.total, state.message)
            now = time.monotonic()
            if now - checked > CHECK_S:
                checked = now
                if await _take_back(tasks, job):
                    return None
            await anyio.sleep(min(max((now - started) * WAIT_SHARE, MIN_WAIT_S), MAX_WAIT_S))

    async def _open(self) -> Tasks:
        async with self._opening:
            if self._tasks is None:
                tasks = Tasks(self._url)
                await tasks.open()
                self._tasks = tasks
            return self._tasks


async def _take_back(tasks: Tasks, job: int) -> bool:
    """Take a task out of the queue if no worker is alive; return whether it was there."""
    if await tasks.count_workers():
        return False
    await give_back(tasks)  # no worker is there to do so
    return await tasks.cancel(job, running=False)


def _restore(description: Mapping[str, str]) -> QuinionError:
    kind = getattr(errors, description["type"], None)
    if not (isinstance(kind, type) and issubclass(kind, QuinionError)):
        kind = QuinionError
    return kind(description["message"])
