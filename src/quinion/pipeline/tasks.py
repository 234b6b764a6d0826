"""Several things at once, with one error if one fails."""

from collections.abc import Awaitable, Callable

import anyio


async def together(*jobs: Callable[[], Awaitable[object]]) -> None:
    """Run the jobs side by side. The first that fails ends the others, and is what is raised."""
    try:
        async with anyio.create_task_group() as group:
            for job in jobs:
                group.start_soon(_run, job)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def _run(job: Callable[[], Awaitable[object]]) -> None:
    await job()
