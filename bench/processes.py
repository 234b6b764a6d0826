"""What a process and all that it has started cost.

Memory is the sum of PSS (`/proc/*/smaps_rollup`): a page that several processes share counts
once, divided among them. RSS would count it once for each. Processor time includes children
that have ended. Linux only.
"""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from time import perf_counter

import psutil  # type: ignore[import-untyped,unused-ignore]

SAMPLE_EVERY_S = 0.2


def list_tree(pid: int) -> list[psutil.Process]:
    """The process and its descendants; none if it is gone."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def measure_cpu_s(pid: int) -> float:
    """User and system time so far."""
    total = 0.0
    for process in list_tree(pid):
        with suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:4])  # own user and system, ended children's both
    return total


def measure_memory_mb(pid: int) -> float:
    """The PSS of the tree now."""
    total = 0
    for process in list_tree(pid):
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            total += process.memory_full_info().pss
    return total / 1e6


class Peak:
    def __init__(self) -> None:
        self.megabytes = 0.0


@contextmanager
def watch_memory(pid: int) -> Iterator[Peak]:
    """Sample the tree's memory while the block runs."""
    peak, stop = Peak(), Event()

    def sample() -> None:
        while not stop.wait(SAMPLE_EVERY_S):
            peak.megabytes = max(peak.megabytes, measure_memory_mb(pid))

    thread = Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        stop.set()
        thread.join()


def newest_child() -> int:
    """The child of this process that was started last."""
    return int(max(psutil.Process().children(), key=lambda child: child.create_time()).pid)


class Neighbours:
    """How much of the machine others took while we measured, which slows what is measured."""

    def __init__(self) -> None:
        self._began = perf_counter()
        self._busy_s = _busy_s() - _own_s()

    def share(self) -> float:
        """The part of all cores' time since the beginning, 0 to 1.

        To be called when all processes that were measured have ended.
        """
        available_s = (perf_counter() - self._began) * (os.cpu_count() or 1)
        return max(0.0, _busy_s() - _own_s() - self._busy_s) / available_s


def _busy_s() -> float:
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + times.irq + times.softirq + times.steal)


def _own_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
