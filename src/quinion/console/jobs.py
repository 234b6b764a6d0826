"""Queue of the ingests that people start in the console.

The jobs belong to the process, not to a page: a page that is reloaded shows them again. They end
with the process; `uploads.remove_unfinished` deletes what they leave behind.
"""

import itertools
import logging
import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream

from quinion.console.calls import Answer, Calls
from quinion.errors import InvalidInput, QuinionError

log = logging.getLogger(__name__)

CONCURRENT = 2
"""Jobs at a time. The pages of each are read by all workers already."""
KEPT = 100
"""Finished jobs that are shown."""


class JobMissing(QuinionError):
    code = "job_not_found"


class State(StrEnum):
    """What became of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(eq=False)
class Job:
    """One call of a tool that takes long, and what it answered.

    `upload` is the file that it reads, if that was uploaded for it.
    """

    number: int
    title: str
    server: str
    tool: str
    arguments: Mapping[str, Any]
    upload: Path | None = None
    state: State = State.WAITING
    done: float = 0
    total: float = 0
    message: str = ""
    answer: Answer = field(default_factory=dict)
    can_retry: bool = True
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)

    @property
    def is_active(self) -> bool:
        """Whether it waits or runs."""
        return self.state in {State.WAITING, State.RUNNING}

    def describe(self) -> Answer:
        """The data that views show."""
        return {
            "number": self.number,
            "title": self.title,
            "state": str(self.state),
            "done": self.done,
            "total": self.total,
            "message": self.message,
            "document": self.answer.get("document_id"),
            "warnings": self.answer.get("warnings", []),
            "can_retry": self.can_retry and self.state in {State.FAILED, State.CANCELLED},
        }


class Jobs:
    """The queue. `run` must be entered before the first job is added.

    `finish` is called for each job that has ended, before views show that.
    """

    def __init__(
        self,
        calls: Calls,
        finish: Callable[[Job], None],
        count_client: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._calls = calls
        self._finish = finish
        self._count_client = count_client
        self._jobs: dict[int, Job] = {}
        self._numbers = itertools.count(1)
        self._queue, self._waiting = anyio.create_memory_object_stream[Job](math.inf)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Run the jobs within the block; at its end, cancel them."""
        async with anyio.create_task_group() as group, self._queue, self._waiting:
            for _ in range(CONCURRENT):
                group.start_soon(self._work, self._waiting.clone())
            try:
                yield
            finally:
                group.cancel_scope.cancel()

    def add(
        self,
        title: str,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        upload: Path | None = None,
    ) -> Job:
        """Add a job to the queue."""
        job = Job(next(self._numbers), title, server, tool, arguments, upload)
        self._jobs[job.number] = job
        self._queue.send_nowait(job)
        finished = [number for number, one in self._jobs.items() if not one.is_active]
        for number in finished[:-KEPT]:
            self.dismiss(number)
        return job

    def list(self) -> list[Job]:
        """The jobs, newest first."""
        return list(self._jobs.values())[::-1]

    def find(self, number: int) -> Job:
        """Find a job.

        Raises:
            JobMissing: there is none of that number, perhaps since the engine was restarted.
        """
        try:
            return self._jobs[number]
        except KeyError:
            raise JobMissing(
                f"There is no job {number}. Jobs end when the engine is restarted."
            ) from None

    def cancel(self, number: int) -> None:
        """Cancel a job that has not ended."""
        job = self.find(number)
        if job.is_active:
            job.scope.cancel()
            self._end(job, State.CANCELLED, "Cancelled. Nothing was stored.")

    def retry(self, number: int) -> Job:
        """Put a failed or cancelled job into the queue again, as a new one.

        Raises:
            InvalidInput: it has not failed, or its file is gone.
        """
        job = self.find(number)
        if job.state not in {State.FAILED, State.CANCELLED}:
            raise InvalidInput(f"{job.title} is {job.state}. Only failed jobs can be retried.")
        if job.upload is not None and not job.upload.exists():
            raise InvalidInput(f"{job.title} is not there any more. Upload it again.")
        del self._jobs[number]
        return self.add(job.title, job.server, job.tool, job.arguments, job.upload)

    def dismiss(self, number: int) -> None:
        """Forget a job that has ended."""
        job = self.find(number)
        if job.is_active:
            raise InvalidInput(f"{job.title} is {job.state}. Cancel it first.")
        del self._jobs[number]
        if job.state is not State.DONE:
            job.state, job.can_retry = State.CANCELLED, False
            self._finish(job)

    async def _work(self, jobs: MemoryObjectReceiveStream[Job]) -> None:
        async with jobs:
            async for job in jobs:
                if job.state is State.WAITING:
                    with self._count_client(), job.scope:
                        await self._run(job)

    async def _run(self, job: Job) -> None:
        job.state = State.RUNNING

        async def report(done: float, total: float | None, message: str | None) -> None:
            job.done, job.total, job.message = done, total or 0, message or ""

        try:
            job.answer = await self._calls.call(job.server, job.tool, job.arguments, report)
        except QuinionError as error:
            self._end(job, State.FAILED, error.message)
        except Exception:
            log.exception("job %r failed", job.title)
            self._end(job, State.FAILED, "This is a bug. The log of quinion has the details.")
        else:
            self._end(job, State.DONE, describe_outcome(job.answer))

    def _end(self, job: Job, state: State, message: str) -> None:
        if job.is_active:
            job.state, job.message = state, message
            self._finish(job)
            job.ended.set()


def describe_outcome(answer: Answer) -> str:
    """Describe in a sentence what an ingest did."""
    if "data" in answer:  # of an index of folders
        return _describe_index(answer["data"])
    status = answer.get("status")
    if status == "already_ingested":
        return "Already there, with the same content."
    if status == "skipped":
        pages = answer["total_pages"]
        return (
            f"Skipped: a drawing or picture without text worth indexing "
            f"({pages} page{'s' * (pages != 1)})."
        )
    if status == "already_in_library":
        return "Already in the library."
    if status == "added":
        return f"Added, {answer['document']['total_pages']} pages."
    chunks, method = answer.get("chunks_created"), answer.get("extraction_method", "")
    how = {"text_layer": "text layer", "ocr": "OCR", "mixed": "text layer and OCR"}.get(method, "")
    return f"{chunks} chunks{f', {how}' if how else ''}."


def _describe_index(data: Answer) -> str:
    failed = [*data["errors"]]
    count = len(failed) + data["errors_omitted"]
    named = "; ".join(f"{one['file_path']}: {one['reason'] or one['error']}" for one in failed[:5])
    return (
        f"{data['new_documents']} indexed, {data['duplicates_skipped']} unchanged, "
        f"{count} failed{f' ({named})' if named else ''}."
    )
