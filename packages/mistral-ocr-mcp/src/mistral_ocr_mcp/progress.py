"""Progress notifications, sent periodically so that clients do not time out."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any

import anyio
from mcp.server.mcpserver import Context

TICK_S = 5.0
"""Interval between notifications; many clients time out after a minute without one."""

Report = Callable[[str], Awaitable[None]]


@asynccontextmanager
async def reporting(ctx: Context[Any, Any]) -> AsyncIterator[Report]:
    """Yield a function that sets the progress message, which is then repeated periodically."""
    message = ""
    started = monotonic()
    count = 0

    async def report(text: str) -> None:
        nonlocal count
        count += 1
        await ctx.report_progress(count, None, text)

    async def set_message(text: str) -> None:
        nonlocal message, started
        message, started = text, monotonic()
        await report(text)

    async def tick() -> None:
        while True:
            await anyio.sleep(TICK_S)
            await report(f"{message} ({monotonic() - started:.0f} s)")

    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        try:
            yield set_message
        except Exception as error:  # raised below, because the task group would wrap it
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
