"""Active snapshots, and deferred release of the slots and files that they use.

A freed slot may be overwritten, and the files of a dropped collection deleted, only when no reader
has an older snapshot.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Retired:
    """Slots by collection number, and dropped collections, that a transaction has freed."""

    slots: dict[int, set[int]] = field(default_factory=dict)
    files: list[int] = field(default_factory=list)


class Snapshots:
    """Registry of the active snapshots of one store; `drop` deletes a collection's files."""

    def __init__(self, drop: Callable[[int], object]) -> None:
        self._drop = drop
        self._lock = threading.Lock()
        self._epoch = 0
        self._active: Counter[int] = Counter()
        self._waiting: list[tuple[int, Retired]] = []

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Protect a snapshot that is opened inside the block."""
        with self._lock:
            epoch = self._epoch
            self._active[epoch] += 1
        try:
            yield
        finally:
            with self._lock:
                self._active[epoch] -= 1
                if not self._active[epoch]:
                    del self._active[epoch]
            self._reclaim()

    def retire(self, retired: Retired) -> None:
        """Release resources of a committed transaction once all current snapshots have ended."""
        with self._lock:
            self._epoch += 1
            self._waiting.append((self._epoch, retired))
        self._reclaim()

    def retired(self, number: int) -> set[int]:
        """The freed slots of a collection that a snapshot may still read."""
        with self._lock:
            return set().union(*(one.slots.get(number, ()) for _, one in self._waiting))

    def _reclaim(self) -> None:
        if not self._waiting:
            return
        with self._lock:
            oldest = min(self._active, default=self._epoch)
            done = [one for epoch, one in self._waiting if epoch <= oldest]
            self._waiting = self._waiting[len(done) :]
        for number in (number for one in done for number in one.files):
            self._drop(number)
