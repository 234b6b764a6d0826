"""Runtime tuning of a process: its priority, freed memory, and Python's garbage collector."""

import ctypes
import gc
import os
import sys
from collections.abc import Callable

NICENESS = 5
"""A third of the processor time of others while they want it, and all of it otherwise."""

_frozen: set[str] = set()


def lower_priority() -> None:
    """Let this thread, and what it starts from now on, give way to searches."""
    if sys.platform == "linux":  # elsewhere it would be the whole process
        # A process that was started with a lower priority may not raise it again.
        os.setpriority(os.PRIO_PROCESS, 0, max(NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))


def _find_malloc_trim() -> Callable[[int], int] | None:
    """The function of glibc; the allocators of other systems return memory by themselves."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return None


_malloc_trim = _find_malloc_trim()


def release_memory() -> None:
    """Return freed memory to the operating system.

    C libraries free a document piece by piece, and glibc keeps most of it for later: after some
    hard files a third of a worker's memory, and three quarters of Tesseract's.
    """
    if _malloc_trim is not None:
        _malloc_trim(0)


def freeze_gc(name: str) -> None:
    """Exclude all present objects from garbage collection, once for each name.

    A full collection stops everything for a tenth of a second to look through what a server has
    imported and loaded, none of which is ever freed.
    """
    if name not in _frozen:
        _frozen.add(name)
        gc.freeze()
