"""Memory of processes in bytes, from the operating system."""

import resource
import sys
from pathlib import Path


def measure_memory(pid: int | None = None) -> int | None:
    """Return the resident memory of a process, by default of this one; None if it is unknown.

    Without /proc (macOS) only the peak of this process is known.
    """
    try:
        pages = int(Path(f"/proc/{pid or 'self'}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return _measure_peak() if pid is None else None
    return pages * resource.getpagesize()


def _measure_peak() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
