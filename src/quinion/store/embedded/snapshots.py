"""Snapshots that are being read, and what has to wait for their end.

A slot that was freed may be overwritten, and the file of a dropped collection deleted, only when
no reader has a snapshot from before that.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Retired:
    """What a transaction no longer uses: slots, by the number of their collection, and the
    numbers of dropped collections."""

    slots: dict[int, set[int]] = field(default_factory=dict)
    files: list[int] = field(default_factory=list)


class Snapshots:
    """The snapshots of one store; `drop` deletes the files of a collection."""

    def __init__(self, drop: Callable[[int], object]) -> None:
        self._drop = drop
        self._lock = threading.Lock()
        self._epoch = 0
        self._active: Counter[int] = Counter()
        self._waiting: list[tuple[int, Retired]] = []

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Read a snapshot that is taken inside the block."""
        with self._lock:
            epoch = self._epoch
            self._active[epoch] += 1
        try:
            yield
        finally:
            with self._lock:
                self._active[epoch] -= 1
                self._active += Counter()  # without the epochs that nobody reads any more
            self._reclaim()

    def retire(self, retired: Retired) -> None:
        """A transaction was committed: wait for all snapshots that are held now."""
        with self._lock:
            self._epoch += 1
            self._waiting.append((self._epoch, retired))
        self._reclaim()

    def retired(self, number: int) -> set[int]:
        """The free slots of a collection that a snapshot may still read."""
        with self._lock:
            return set().union(*(one.slots.get(number, ()) for _, one in self._waiting))

    def _reclaim(self) -> None:
        with self._lock:
            oldest = min(self._active, default=self._epoch)
            done = [one for epoch, one in self._waiting if epoch <= oldest]
            self._waiting = self._waiting[len(done) :]
        for number in (number for one in done for number in one.files):
            self._drop(number)
