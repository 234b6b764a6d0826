"""How long work tells its caller how far it is."""

from collections.abc import Awaitable, Callable

Progress = Callable[[float, float, str], Awaitable[None]]
"""Gets what is done, what there is to do, and a line for people."""


async def no_progress(_done: float, _total: float, _message: str) -> None:
    """For callers that do not want to know."""
