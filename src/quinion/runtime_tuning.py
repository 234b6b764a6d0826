"""Runtime tuning of a process: its priority, freed memory, and Python's garbage collector."""

import ctypes
import gc
import os
import sys
from collections.abc import Callable

NICENESS = 5
"""A third of the processor time of a normal process under contention, all of it otherwise."""

_frozen: set[str] = set()


def lower_priority() -> None:
    """Lower the priority of this thread and of anything it starts later, so searches go first."""
    if sys.platform == "linux":  # elsewhere this would affect the entire process
        # A process that was started with a lower priority may not raise it.
        os.setpriority(os.PRIO_PROCESS, 0, max(NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))


def _find_malloc_trim() -> Callable[[int], int] | None:
    """Find glibc's malloc_trim; other allocators return memory automatically."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return None


_malloc_trim = _find_malloc_trim()


def release_memory() -> None:
    """Return freed memory to the operating system.

    C libraries free a document in small blocks, most of which glibc retains: after some difficult
    files a third of a worker's memory, and three quarters of Tesseract's.
    """
    if _malloc_trim is not None:
        _malloc_trim(0)


def freeze_gc(name: str) -> None:
    """Exclude all existing objects from garbage collection, once per name.

    A full collection stops all threads for a tenth of a second to scan imported modules and
    loaded models, which are never freed.
    """
    if name not in _frozen:
        _frozen.add(name)
        gc.freeze()
