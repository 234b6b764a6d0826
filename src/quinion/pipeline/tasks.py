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
        first: BaseException = errors
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from first.__cause__


async def together(*jobs: Callable[[], Awaitable[object]]) -> None:
    """Run the jobs side by side. The first that fails ends the others, and is what is raised."""
    with as_raised():
        async with anyio.create_task_group() as group:
            for job in jobs:
                group.start_soon(_run, job)


async def _run(job: Callable[[], Awaitable[object]]) -> None:
    await job()
