"""Concurrency helpers: blocking work in threads, several tasks at once, and locks by key."""

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import ParamSpec, TypeVar

import anyio
import anyio.to_thread

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking work in a thread. A cancelled caller waits for its end, so that nothing goes
    on writing unnoticed."""
    return await anyio.to_thread.run_sync(lambda: function(*args, **kwargs))


class KeyedLock:
    """A lock for each key, which exists only while it is in use."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, anyio.Lock] = {}

    @asynccontextmanager
    async def hold(self, key: Hashable) -> AsyncIterator[None]:
        """Wait for the lock of `key`, and hold it."""
        lock = self._locks.setdefault(key, anyio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.locked() and not lock.statistics().tasks_waiting:
                self._locks.pop(key, None)


@contextmanager
def as_raised() -> Iterator[None]:
    """Around a group of tasks: what one of them raises, and not a group with that in it."""
    try:
        yield
    except BaseExceptionGroup as errors:
        first = _first(errors)
        raise first from first.__cause__


async def together(*jobs: Callable[[], Awaitable[object]]) -> None:
    """Run the jobs side by side. The first that fails ends the others, and is what is raised."""
    failure: BaseException | None = None
    try:
        async with anyio.create_task_group() as group:
            for job in jobs:
                group.start_soon(_run, job)
    except BaseExceptionGroup as errors:
        failure = _first(errors)
    # Raised out here, and let go of: an error that has its group for a context, or that is held by
    # a frame of its own traceback, keeps all that the jobs have read until cycles are looked for.
    try:
        if failure:
            raise failure
    finally:
        del failure


async def _run(job: Callable[[], Awaitable[object]]) -> None:
    try:
        await job()
    except anyio.get_cancelled_exc_class() as cancelled:
        # The task group keeps it for a while; nobody asks where the job was.
        del job
        raise cancelled.with_traceback(None) from None


def _first(errors: BaseException) -> BaseException:
    while isinstance(errors, BaseExceptionGroup):
        errors = errors.exceptions[0]
    return errors
