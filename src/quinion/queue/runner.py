"""Runner: the worker's side of the queue. Takes tasks, does them, and writes their outcomes.

A task that fails because of itself (a damaged file) has its error as the outcome at once. Any other
failure is repeated, on whatever worker is free, up to three times.
"""

import asyncio
import logging
import random
import signal
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
from procrastinate import JobContext, RetryDecision
from procrastinate.jobs import Job
from procrastinate.retry import BaseRetryStrategy

from quinion.concurrency import in_thread
from quinion.errors import (
    Busy,
    FileMissing,
    ModelUnavailable,
    QuinionError,
    RegistryUnavailable,
    StoreUnavailable,
)
from quinion.ingest.engine_resources import DoTask
from quinion.ingest.source import Source
from quinion.queue.sweeping import (
    INCOMING,
    TRIES,
    describe_error,
    drop_incoming,
    give_back,
    remove_leftovers,
    repeat,
)
from quinion.queue.tasks import ALIVE_S, QUEUE, TASK, Task, Tasks
from quinion.store.bucket import Bucket

log = logging.getLogger(__name__)

AT_ONCE = 3
"""Tasks at a time: one being embedded, one being read, and one being fetched or written."""
FETCH_S = 1.0
"""Time between two looks for tasks that are to be repeated; new ones are announced."""
HEARTBEAT_S = 5.0
SWEEP_S = 5.0
LEFTOVERS_S = 3600.0
REPORT_S = 0.5
"""Least time between two reports of progress, which the server polls for."""
GRACE_S = 5.0
"""Time for tasks to end when the worker is stopped; others are given back."""
RECONNECT_S = 2.0
PASSING = (StoreUnavailable, RegistryUnavailable, ModelUnavailable, Busy)
"""Errors that another try, or another worker, may not have."""


class _Again(Exception):
    """A try failed and is to be repeated."""

    def __init__(self, failures: int) -> None:
        super().__init__(f"try {failures} failed")
        self.wait = timedelta(seconds=2.0 ** (failures - 1))


class _Retry(BaseRetryStrategy):
    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        """Repeat failed tries later, and those that a stop of the worker interrupted at once."""
        now = datetime.now(UTC)
        if isinstance(exception, _Again):
            return RetryDecision(retry_at=now + exception.wait)
        return RetryDecision(retry_at=now)


class Runner:
    """Takes tasks of these kinds from the queue."""

    def __init__(self, tasks: Tasks, bucket: Bucket, kinds: Mapping[str, DoTask]) -> None:
        self._tasks = tasks
        self._bucket = bucket
        self._kinds = kinds
        self._jobs: set[int] = set()
        self._worker_ids: set[int] = set()
        self._stopping = asyncio.Event()
        tasks.app.task(name=TASK, queue=QUEUE, pass_context=True, retry=_Retry())(self._run)

    async def serve(self) -> None:
        """Take tasks until this process is told to stop. A lost database is waited for."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        async with anyio.create_task_group() as group:
            group.start_soon(self._sweep)
            while not self._stopping.is_set():
                await self._take()
            group.cancel_scope.cancel()

    def stop(self) -> None:
        """End `serve`; tasks that do not end soon are given back."""
        self._stopping.set()

    async def _take(self) -> None:
        """Run procrastinate's worker until it ends, because of a stop or of an error."""
        worker = asyncio.create_task(
            self._tasks.app.run_worker_async(
                queues=[QUEUE],
                concurrency=AT_ONCE,
                fetch_job_polling_interval=FETCH_S,
                install_signal_handlers=False,
                delete_jobs="always",
                update_heartbeat_interval=HEARTBEAT_S,
                stalled_worker_timeout=ALIVE_S,
                shutdown_graceful_timeout=GRACE_S,
            )
        )
        stop = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({worker, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        worker.cancel()
        try:
            await worker
        except asyncio.CancelledError:
            pass
        except Exception as error:  # of procrastinate, psycopg or the network: all are passing
            log.warning("The queue does not answer (%s); trying again", error)
        if not self._stopping.is_set():
            await anyio.sleep(RECONNECT_S)

    async def _run(self, context: JobContext, task: str) -> None:
        job = context.job.id
        assert job is not None
        if context.job.worker_id is not None:
            self._worker_ids.add(context.job.worker_id)
        self._jobs.add(job)
        try:
            found = await self._tasks.read(task)
            if found and not found.is_finished:
                await self._finish(task, found)
        finally:
            self._jobs.discard(job)

    async def _finish(self, id_: str, task: Task) -> None:
        """Do a task and write its outcome.

        Raises:
            _Again: the try failed.
        """
        try:
            outcome = {"result": await self._do(id_, task)}
        except QuinionError as error:
            if isinstance(error, PASSING):
                await self._note_failure(id_, error)
            outcome = describe_error(error)
        except Exception as error:  # the outermost handler: one bad file costs its own error
            log.exception("A task failed")
            await self._note_failure(id_, error)
            reason = f"Ingesting {Path(task.path).name} failed: {type(error).__name__}: {error}"
            outcome = describe_error(QuinionError(reason))
        await self._tasks.finish(id_, outcome)
        await drop_incoming(self._bucket, id_)

    async def _note_failure(self, id_: str, error: Exception) -> None:
        """Count a failed try.

        Raises:
            _Again: there may be another one.
        """
        failures = await self._tasks.count_failure(id_)
        if 0 < failures < TRIES:
            log.warning("Try %d of a document failed: %s", failures, error)
            raise _Again(failures) from error

    async def _do(self, id_: str, task: Task) -> Any:
        last = 0.0

        async def report(done: float, total: float, message: str) -> None:
            nonlocal last
            now = asyncio.get_running_loop().time()
            if now - last >= REPORT_S:
                last = now
                await self._tasks.report(id_, done, total, message)

        with TemporaryDirectory(prefix="quinion-", ignore_cleanup_errors=True) as folder:
            source = await in_thread(self._fetch, id_, task, folder)
            return await self._kinds[task.kind](source, task.arguments, report)

    def _fetch(self, id_: str, task: Task, folder: str) -> Source:
        """Copy the file of a task to this folder. Blocking."""
        path = Path(task.path)
        copy = Path(folder).resolve() / path.name
        with copy.open("wb") as file:
            if not self._bucket.download(f"{INCOMING}/{id_}", file, task.sha256):
                raise FileMissing(
                    f"File not found: {path}. Its copy for the worker was removed. Try again."
                )
        return Source(path, copy, task.sha256)

    async def _sweep(self) -> None:
        """Give back the jobs of dead workers, and those that this worker has lost."""
        lost: set[int] = set()
        cleaned = 0.0
        while True:
            await anyio.sleep(SWEEP_S * random.uniform(0.8, 1.2))  # noqa: S311 - not secret
            with suppress(StoreUnavailable):
                await give_back(self._tasks)
                lost = await self._repeat_lost(lost)
                now = asyncio.get_running_loop().time()
                if now - cleaned > LEFTOVERS_S:
                    cleaned = now
                    await remove_leftovers(self._tasks, self._bucket)

    async def _repeat_lost(self, before: set[int]) -> set[int]:
        """Repeat jobs that ended here without the database noticing; return the suspected ones."""
        lost: set[int] = set()
        for worker_id in self._worker_ids:
            with self._tasks.failures():
                jobs = await self._tasks.app.job_manager.list_jobs_async(
                    queue=QUEUE, status="doing", worker_id=worker_id
                )
            for job in jobs:
                if job.id is None or job.id in self._jobs:
                    continue
                if job.id in before:
                    await repeat(self._tasks, job)
                else:
                    lost.add(job.id)
        return lost
