"""Pool of worker processes: documents are read in workers, never in the server.

Workers are started on demand. A worker that times out, dies or uses too much memory, or whose job
is cancelled, is killed with its child processes, and the next job gets a new one. So a bad file
fails alone.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.abc
import anyio.streams.buffered
import anyio.to_thread

from quinion import errors
from quinion.errors import ExtractionFailed, QuinionError
from quinion.extract.ocr.languages import AUTO, DEFAULT
from quinion.framing import (
    LENGTH_BYTES,
    MAX_FRAME_BYTES,
    Frame,
    decode,
    decode_length,
    encode,
)
from quinion.workers.kinds import DOCUMENTS, WorkerKind

PROGRAM = "quinion.workers.worker"

OnItem = Callable[[Frame], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Load:
    """Workers of a kind: limit, busy, idle; jobs that wait for one; process ids."""

    kind: str
    limit: int
    busy: int
    idle: int
    waiting: int
    pids: tuple[int, ...]


class Workers:
    """Pool of at most `size` workers of one kind, shared by all documents that are being read."""

    def __init__(
        self,
        size: int,
        timeout_s: float | None = None,
        kind: WorkerKind = DOCUMENTS,
        ocr_languages: str = DEFAULT,
        ocr_engine: str = AUTO,
    ) -> None:
        self.size = size
        self._ocr = (ocr_languages, ocr_engine)
        self._kind = kind
        self._timeout_s = timeout_s
        self._limiter = anyio.CapacityLimiter(size)
        self._idle: list[_Process] = []
        self._busy: set[_Process] = set()

    @property
    def load(self) -> "Load":
        """Workers and jobs at this moment."""
        waiting = self._limiter.statistics().tasks_waiting
        pids = tuple(worker.pid for worker in (*self._idle, *self._busy))
        return Load(self._kind.name, self.size, len(self._busy), len(self._idle), waiting, pids)

    async def run(self, job: str, on_item: OnItem, **arguments: Any) -> None:
        """Run one job and pass each item of its result to `on_item` as it arrives.

        Raises:
            QuinionError: the job failed, or its worker died or timed out.
        """
        async with self._acquire() as worker:
            await worker.send({"job": job, "arguments": arguments})
            while (frame := await self._receive(worker, job)).get("done") is None:
                if "error" in frame:
                    raise _error(frame["error"])
                await on_item(frame["item"])

    async def first(self, job: str, **arguments: Any) -> Frame:
        """Run a job and return its first item."""
        items: list[Frame] = []

        async def keep(item: Frame) -> None:
            items.append(item)

        await self.run(job, keep, **arguments)
        return items[0]

    async def warm(self) -> None:
        """Start a worker in advance if there is none, because a process takes a second to start."""
        if not self._idle and not self._busy:
            async with self._acquire():
                pass

    async def close(self) -> None:
        """Kill all idle workers; busy ones remain until their jobs end."""
        while self._idle:
            await self._idle.pop().kill()

    async def _receive(self, worker: "_Process", job: str) -> Frame:
        timeout_s = self._timeout_s or self._kind.timeout_s(job)
        try:
            with anyio.fail_after(timeout_s):
                return await worker.receive()
        except TimeoutError as error:
            raise ExtractionFailed(
                f"Reading timed out after {timeout_s:.0f} seconds without a page. "
                "The file is damaged or too complex; print it to a new PDF and try that."
            ) from error
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError) as error:
            raise ExtractionFailed(
                "The file made the reader crash. It is damaged or needs more memory than a "
                "document may take; print it to a new PDF and try that."
            ) from error

    async def _start(self) -> "_Process":
        return await _Process.start(worker_command(self._kind, *self._ocr))

    @asynccontextmanager
    async def _acquire(self) -> AsyncIterator["_Process"]:
        async with self._limiter:
            worker = self._idle.pop() if self._idle else await self._start()
            self._busy.add(worker)
            try:
                yield worker
            finally:
                self._busy.discard(worker)
                if worker.is_idle:
                    self._idle.append(worker)
                else:
                    await worker.kill()


class _Process:
    def __init__(
        self, process: anyio.abc.Process, temp_folder: "tempfile.TemporaryDirectory[str]"
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.is_idle = True
        self.pid = process.pid
        self._process = process
        self._temp_folder = temp_folder
        self._stdin = process.stdin
        self._stdout = anyio.streams.buffered.BufferedByteReceiveStream(process.stdout)

    @classmethod
    async def start(cls, command: list[str]) -> "_Process":
        # One temporary folder per worker, because a killed process does not clean up.
        try:
            temp_folder = await anyio.to_thread.run_sync(_make_temp_folder)
        except OSError as error:
            raise ExtractionFailed(
                f"No temporary folder can be created ({error.strerror}). Free some space in "
                f"{tempfile.gettempdir()}, or set TMPDIR to another folder."
            ) from error
        process = await anyio.open_process(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None,
            env={**os.environ, "TMPDIR": temp_folder.name},
            start_new_session=True,
        )
        return cls(process, temp_folder)

    async def send(self, frame: Frame) -> None:
        self.is_idle = False
        with suppress(anyio.BrokenResourceError):  # `receive` reports a dead worker
            await self._stdin.send(encode(frame))

    async def receive(self) -> Frame:
        length = decode_length(await self._stdout.receive_exactly(LENGTH_BYTES))
        if length > MAX_FRAME_BYTES:
            raise ExtractionFailed(
                "A page of the file has more text than a page may have. Split it and try again."
            )
        frame = decode(await self._stdout.receive_exactly(length))
        # A worker that uses too much memory is not reused.
        self.is_idle = "item" not in frame and not frame["too_large"]
        return frame

    async def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with anyio.CancelScope(shield=True):
            await self._process.aclose()
            await anyio.to_thread.run_sync(self._temp_folder.cleanup)


def worker_command(
    kind: WorkerKind, ocr_languages: str = DEFAULT, ocr_engine: str = AUTO
) -> list[str]:
    """Return the command that starts a worker of this kind."""
    limits = [str(kind.address_space_bytes), str(kind.max_idle_bytes)]
    # -P: modules in the user's current folder must not be imported.
    return [sys.executable, "-P", "-m", PROGRAM, kind.jobs, *limits, ocr_languages, ocr_engine]


def _make_temp_folder() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="quinion-", ignore_cleanup_errors=True)


def _error(description: Frame) -> QuinionError:
    kind = getattr(errors, description["type"], None)
    if not (isinstance(kind, type) and issubclass(kind, QuinionError)):
        kind = ExtractionFailed
    return kind(description["message"])
