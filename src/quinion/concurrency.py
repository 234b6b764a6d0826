"""Concurrency helpers: blocking work in threads, several tasks at once, and locks by key."""

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import ParamSpec, TypeVar

import anyio
import anyio.to_thread

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a blocking function in a thread.

    A cancelled caller waits until the function returns, so that no write continues unnoticed.
    """
    return await anyio.to_thread.run_sync(lambda: function(*args, **kwargs))


class KeyedLock:
    """Locks by key; a lock exists only while it is in use."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, anyio.Lock] = {}

    @asynccontextmanager
    async def hold(self, key: Hashable) -> AsyncIterator[None]:
        """Acquire the lock of `key` for the duration of the block."""
        lock = self._locks.setdefault(key, anyio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.locked() and not lock.statistics().tasks_waiting:
                self._locks.pop(key, None)

    def is_held(self, key: Hashable) -> bool:
        """Whether a task holds the lock of `key` or waits for it."""
        return key in self._locks


@contextmanager
def as_raised() -> Iterator[None]:
    """Raise the first error of an exception group instead of the group."""
    try:
        yield
    except BaseExceptionGroup as errors:
        first = _first(errors)
        raise first from first.__cause__


async def together(*jobs: Callable[[], Awaitable[object]]) -> None:
    """Run the jobs concurrently. The first failure cancels the others and is raised."""
    failure: BaseException | None = None
    try:
        async with anyio.create_task_group() as group:
            for job in jobs:
                group.start_soon(_run, job)
    except BaseExceptionGroup as errors:
        failure = _first(errors)
    # Raised outside the handler, and then deleted: an error that has the group as its context, or
    # that a frame of its own traceback refers to, keeps all that the jobs have read in memory until
    # the next garbage collection.
    try:
        if failure:
            raise failure
    finally:
        del failure


async def _run(job: Callable[[], Awaitable[object]]) -> None:
    try:
        await job()
    except anyio.get_cancelled_exc_class() as cancelled:
        # The task group keeps the exception for a while; its traceback is not needed.
        del job
        raise cancelled.with_traceback(None) from None


def _first(errors: BaseException) -> BaseException:
    while isinstance(errors, BaseExceptionGroup):
        errors = errors.exceptions[0]
    return errors
