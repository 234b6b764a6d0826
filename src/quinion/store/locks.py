"""Locks by key among tasks, and among engines if they share the store."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import anyio

from quinion.concurrency import KeyedLock, in_thread
from quinion.errors import StoreUnavailable
from quinion.store.leases import Lease, Leases, covered_by

FIRST_POLL_S, LAST_POLL_S = 0.01, 0.5
"""Time between two attempts to take a lease, which grows while it is waited for."""
POLL_GROWTH = 1.5

Key = tuple[str, ...]
"""What is locked: its kind, then its name."""


class Locks:
    """Locks by key. With `leases`, they hold among all engines of the store."""

    def __init__(self, leases: Leases | None = None) -> None:
        self._leases = leases
        self._local = KeyedLock()

    @property
    def are_shared(self) -> bool:
        """Whether other engines may hold these locks."""
        return self._leases is not None

    @asynccontextmanager
    async def hold(self, *keys: Key) -> AsyncIterator[None]:
        """Wait for the locks of all keys, and hold them during the block.

        Locks that are held at the same time by one task must be of different kinds, and always be
        taken in the same order.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        async with AsyncExitStack() as stack:
            for key in sorted(set(keys)):
                await stack.enter_async_context(self._local.hold(key))
            if self._leases and keys:
                lease = await self._wait(self._leases, sorted({_name(key) for key in keys}))
                stack.push_async_callback(self._release, self._leases, lease)
                stack.enter_context(covered_by(lease))
            yield

    @asynccontextmanager
    async def hold_if_free(self, key: Key) -> AsyncIterator[bool]:
        """Hold the lock during the block if no task or engine has it; yield whether it is held.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        async with AsyncExitStack() as stack:
            is_held = not self._local.is_held(key)
            if is_held:
                await stack.enter_async_context(self._local.hold(key))
                if self._leases:
                    lease = await in_thread(self._leases.acquire, [_name(key)])
                    is_held = lease is not None
                    if lease:
                        stack.push_async_callback(self._release, self._leases, lease)
                        stack.enter_context(covered_by(lease))
            yield is_held

    async def _wait(self, leases: Leases, names: list[str]) -> Lease:
        poll_s = FIRST_POLL_S
        while (lease := await in_thread(leases.acquire, names)) is None:
            await anyio.sleep(poll_s)
            poll_s = min(poll_s * POLL_GROWTH, LAST_POLL_S)
        return lease

    async def _release(self, leases: Leases, lease: Lease) -> None:
        with anyio.CancelScope(shield=True), suppress(StoreUnavailable):  # then it expires
            await in_thread(leases.release, lease)


def _name(key: Key) -> str:
    """The name of a lease: the kind, and a digest, because a path may be too long for an index."""
    rest = hashlib.sha256("\0".join(key[1:]).encode(errors="surrogatepass")).hexdigest()
    return f"{key[0]} {rest}"
