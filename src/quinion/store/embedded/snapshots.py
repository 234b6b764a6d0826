"""Snapshots that are being read, and what has to wait for their end.

A slot that was freed may be overwritten, and the file of a dropped collection deleted, only when
no reader has a snapshot from before that.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Snapshots:
    """The snapshots of one store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._epoch = 0
        self._active: Counter[int] = Counter()
        self._waiting: list[tuple[int, Callable[[], object]]] = []

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
                if not self._active[epoch]:
                    del self._active[epoch]
            self._run_due()

    def after_current(self, action: Callable[[], object]) -> None:
        """Run the action once all snapshots that are held now have been released."""
        with self._lock:
            self._epoch += 1
            self._waiting.append((self._epoch, action))
        self._run_due()

    def _run_due(self) -> None:
        with self._lock:
            oldest = min(self._active, default=self._epoch)
            due = [action for epoch, action in self._waiting if epoch <= oldest]
            self._waiting = [one for one in self._waiting if one[0] > oldest]
        for action in due:
            action()
