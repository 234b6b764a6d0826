"""Turns: work on the same thing, one after the other; on different things, at once."""

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

import anyio


class Turns:
    """A lock for every key, kept only while somebody wants it."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, anyio.Lock] = {}

    @asynccontextmanager
    async def take(self, key: Hashable) -> AsyncIterator[None]:
        """Wait for the turn on `key`, and hold it."""
        lock = self._locks.setdefault(key, anyio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.locked() and not lock.statistics().tasks_waiting:
                self._locks.pop(key, None)
