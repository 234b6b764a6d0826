"""Memory and CPU time of process trees.

Memory is the sum of PSS (`/proc/*/smaps_rollup`), which divides a shared page among its
processes; RSS would count it once per process. CPU time includes exited children. Linux only.
"""

import ctypes
import math
import os
import resource
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from threading import Event, Thread
from time import perf_counter

import anyio
import psutil  # type: ignore[import-untyped,unused-ignore]

from quinion.runtime_tuning import NICENESS
from quinion.store.chroma.replicator import QUIET_S

SAMPLE_EVERY_S = 0.2
SAMPLES_OF_A_LIST = 5
"""The list of processes is refreshed every so many samples, i.e. once per second."""
GROWN = 1.01
"""RSS growth over the previous maximum that triggers an exact PSS measurement."""
IDLE_AFTER_S = QUIET_S + 0.5
"""Longer than the replicator's delay before it replicates to Chroma."""
IDLE_CPU_S = 0.05
PR_SET_CHILD_SUBREAPER = 36


def list_trees(pids: Iterable[int]) -> list[psutil.Process]:
    """List the processes and their descendants without duplicates; skips exited ones."""
    found: dict[int, psutil.Process] = {}
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            root = psutil.Process(pid)
            found |= {process.pid: process for process in [root, *root.children(recursive=True)]}
    return list(found.values())


def measure_cpu_s(*pids: int) -> float:
    """Return the user and system time of the process trees so far."""
    total = 0.0
    for process in list_trees(pids):
        with suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:4])  # own user and system, ended children's both
    return total


def measure_embedding_s(*pids: int) -> float:
    """Return the user and system time of the niced threads: in an engine, the embedding threads."""
    total = 0.0
    for pid in pids:
        for thread in psutil.Process(pid).threads():
            with suppress(ProcessLookupError):
                if os.getpriority(os.PRIO_PROCESS, thread.id) >= NICENESS:
                    total += thread.user_time + thread.system_time
    return total


def measure_memory_mb(*pids: int) -> float:
    """Return the current PSS of the process trees."""
    total = 0
    for process in list_trees(pids):
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            total += process.memory_full_info().pss
    return total / 1e6


def _measure_rss_mb(processes: Iterable[psutil.Process]) -> float:
    """Return the RSS: cheap, but counts shared pages once per process."""
    total = 0
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            total += process.memory_info().rss
    return total / 1e6


async def wait_until_idle(*pids: int) -> None:
    """Wait until the process trees have used no CPU for a while."""
    used = -math.inf
    while (now := measure_cpu_s(*pids)) - used > IDLE_CPU_S:
        used = now
        await anyio.sleep(IDLE_AFTER_S)


class Peak:
    def __init__(self) -> None:
        self.megabytes = 0.0


@contextmanager
def watch_memory(*pids: int) -> Iterator[Peak]:
    """Sample the memory of the process trees while the block runs.

    RSS is sampled five times a second. PSS is only measured when RSS reaches a new maximum:
    the kernel walks all pages of a process for it, which would slow down the measured process.
    The list of descendants is refreshed less often, because it requires a scan of all processes.
    """
    peak, stop = Peak(), Event()

    def sample() -> None:
        highest = 0.0
        for number in count():
            if stop.wait(SAMPLE_EVERY_S):
                return
            if number % SAMPLES_OF_A_LIST == 0:
                processes = list_trees(pids)
            rough = _measure_rss_mb(processes)
            if rough > GROWN * highest:
                highest = rough
                peak.megabytes = max(peak.megabytes, measure_memory_mb(*pids))

    thread = Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        stop.set()
        thread.join()


def newest_child(besides: int | None = None) -> int:
    """Return the most recently started child of this process, excluding the pid `besides`."""
    children = [child for child in psutil.Process().children() if child.pid != besides]
    return int(max(children, key=lambda child: child.create_time()).pid)


def adopt_orphans() -> None:
    """Become the subreaper of orphaned descendants, such as the engine in the background.

    Their CPU time then counts as the benchmark's own after they exit, not as background load.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "could not become a child subreaper")


class BackgroundLoad:
    """CPU share of unrelated programs during a measurement."""

    def __init__(self) -> None:
        self._began = perf_counter()
        self._busy_s = _busy_s() - _own_s()

    def share(self) -> float:
        """Return the share of all cores' time since the start, 0 to 1.

        Call it after all measured processes have exited.
        """
        available_s = (perf_counter() - self._began) * (os.cpu_count() or 1)
        return max(0.0, _busy_s() - _own_s() - self._busy_s) / available_s


def _busy_s() -> float:
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + times.irq + times.softirq + times.steal)


def _own_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
