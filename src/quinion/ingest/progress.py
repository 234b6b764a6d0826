"""Progress callback of long operations."""

from collections.abc import Awaitable, Callable

Progress = Callable[[float, float, str], Awaitable[None]]
"""Called with the amount done, the total, and a message for users."""


async def no_progress(_done: float, _total: float, _message: str) -> None:
    """Ignore all progress."""
