"""Many readers, or one who replaces."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio


class Gate:
    """Readers pass together; whoever closes the gate waits for them and keeps new ones out.

    A replacement is a matter of a second, so readers wait rather than see half of it.
    """

    def __init__(self) -> None:
        self._readers = 0
        self._closed = False
        self._changed = anyio.Condition()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Pass as one of many."""
        async with self._changed:
            while self._closed:
                await self._changed.wait()
            self._readers += 1
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                async with self._changed:
                    self._readers -= 1
                    self._changed.notify_all()

    @asynccontextmanager
    async def closed(self) -> AsyncIterator[None]:
        """Be alone."""
        async with self._changed:
            while self._closed:
                await self._changed.wait()
            self._closed = True
            try:
                while self._readers:
                    await self._changed.wait()
            except BaseException:
                self._closed = False
                self._changed.notify_all()
                raise
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                async with self._changed:
                    self._closed = False
                    self._changed.notify_all()
