"""Leases: locks by key among the engines that share one store.

A lease ends when its holder releases it, or some time after its holder has stopped. So the holder
can't be sure that it still has it: each lease has a token, and a store transaction that begins
within the work that a lease covers fails with LeaseLost if another engine has taken it over.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease on one or more keys."""

    token: int
    keys: int


class Leases(Protocol):
    """Leases of a store. All methods block; they raise StoreUnavailable if it does not answer."""

    def acquire(self, keys: Sequence[str]) -> Lease | None:
        """Take all of these keys, or none of them if another holder has one."""
        ...

    def release(self, lease: Lease) -> None:
        """Give the keys back; a lease that was lost is ignored."""
        ...


_held: ContextVar[tuple[Lease, ...]] = ContextVar("held", default=())


def held_leases() -> tuple[Lease, ...]:
    """The leases that cover the work of this task or thread."""
    return _held.get()


@contextmanager
def covered_by(lease: Lease) -> Iterator[None]:
    """Cover the work of the block, with the tasks and threads that it starts, by a lease."""
    before = _held.set((*_held.get(), lease))
    try:
        yield
    finally:
        _held.reset(before)
