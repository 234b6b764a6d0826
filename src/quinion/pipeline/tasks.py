"""Several things at once, with one error if one fails."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import anyio


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
