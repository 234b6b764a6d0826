"""Signs of life for whoever waits."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any

import anyio
from mcp.server.mcpserver import Context

TICK_S = 5.0
"""Clients give up on a call that shows no sign of life, many of them after a minute."""

Say = Callable[[str], Awaitable[None]]


@asynccontextmanager
async def reporting(ctx: Context[Any, Any]) -> AsyncIterator[Say]:
    """A function that tells the client what is being done, and repeats it while that lasts."""
    message = ""
    begun = monotonic()
    count = 0

    async def report(text: str) -> None:
        nonlocal count
        count += 1
        await ctx.report_progress(count, None, text)

    async def say(text: str) -> None:
        nonlocal message, begun
        message, begun = text, monotonic()
        await report(text)

    async def tick() -> None:
        while True:
            await anyio.sleep(TICK_S)
            await report(f"{message} ({monotonic() - begun:.0f} s)")

    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        try:
            yield say
        except Exception as error:  # raised below as it is; the group would wrap it
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
