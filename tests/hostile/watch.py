"""Peak memory of a process and its descendants."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

OFTEN_S = 0.05


class Watch:
    """The largest sum seen, of what each process has in memory for itself, and of one what it
    shares: libraries are counted once."""

    def __init__(self, pid: int) -> None:
        self.peak = 0
        self._root = psutil.Process(pid)
        self._ended = threading.Event()

    def look(self) -> None:
        """Add up once."""
        own, shared = 0, 0
        for process in (self._root, *self._root.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                memory = process.memory_info()
                own += memory.rss - memory.shared
                shared = max(shared, memory.shared)
        self.peak = max(self.peak, own + shared)

    def run(self) -> None:
        """Look until it is ended."""
        with suppress(psutil.NoSuchProcess):
            while True:
                self.look()
                if self._ended.wait(OFTEN_S):
                    break

    def end(self) -> None:
        self._ended.set()


@contextmanager
def watch(pid: int) -> Iterator[Watch]:
    """Watch a process for as long as the block takes."""
    watching = Watch(pid)
    thread = threading.Thread(target=watching.run, daemon=True)
    thread.start()
    try:
        yield watching
    finally:
        watching.end()
        thread.join()
