"""What was freed, and is given back to the system.

C libraries free a document piece by piece, and glibc keeps most of that for what may come next:
after some hard files a third of what a worker has in memory, and three quarters of what Tesseract
has. A process that then waits does not need it, and others do.
"""

import ctypes
from collections.abc import Callable


def _find_trim() -> Callable[[int], int] | None:
    """glibc's; other systems' allocators give back by themselves."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return None


_trim = _find_trim()


def give_back() -> None:
    """Give back all that this process has freed."""
    if _trim is not None:
        _trim(0)
