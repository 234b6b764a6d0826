"""What processes and all that they have started cost.

Memory is the sum of PSS (`/proc/*/smaps_rollup`): a page that several processes share counts
once, divided among them. RSS would count it once for each. Processor time includes children
that have ended. Linux only.
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
"""Processes that have come in the meantime are sampled a second later."""
GROWN = 1.01
"""How much more memory than ever before, roughly, is worth an exact look."""
IDLE_AFTER_S = QUIET_S + 0.5
"""Longer than ours waits before it does what nobody waits for."""
IDLE_CPU_S = 0.05
PR_SET_CHILD_SUBREAPER = 36


def list_trees(pids: Iterable[int]) -> list[psutil.Process]:
    """The processes and their descendants, each once; without those that are gone."""
    found: dict[int, psutil.Process] = {}
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            root = psutil.Process(pid)
            found |= {process.pid: process for process in [root, *root.children(recursive=True)]}
    return list(found.values())


def measure_cpu_s(*pids: int) -> float:
    """User and system time of their trees so far."""
    total = 0.0
    for process in list_trees(pids):
        with suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:4])  # own user and system, ended children's both
    return total


def measure_embedding_s(*pids: int) -> float:
    """User and system time so far of those of their own threads that give way: of an engine, those
    that embed."""
    total = 0.0
    for pid in pids:
        for thread in psutil.Process(pid).threads():
            with suppress(ProcessLookupError):
                if os.getpriority(os.PRIO_PROCESS, thread.id) >= NICENESS:
                    total += thread.user_time + thread.system_time
    return total


def measure_memory_mb(*pids: int) -> float:
    """The PSS of their trees now."""
    total = 0
    for process in list_trees(pids):
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            total += process.memory_full_info().pss
    return total / 1e6


def _measure_rss_mb(processes: Iterable[psutil.Process]) -> float:
    """Roughly the same, for little: what processes share is counted once for each."""
    total = 0
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            total += process.memory_info().rss
    return total / 1e6


async def wait_until_idle(*pids: int) -> None:
    """Until their trees have done nothing for a while."""
    used = -math.inf
    while (now := measure_cpu_s(*pids)) - used > IDLE_CPU_S:
        used = now
        await anyio.sleep(IDLE_AFTER_S)


class Peak:
    def __init__(self) -> None:
        self.megabytes = 0.0


@contextmanager
def watch_memory(*pids: int) -> Iterator[Peak]:
    """Sample the memory of their trees while the block runs.

    What is sampled is RSS, and PSS only where that is higher than ever: the kernel walks through
    all of a process's pages for it, and five times a second that would slow down what is measured.
    So would asking who their descendants are, which takes a look at all processes there are.
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
    """The child of this process that was started last, `besides` one that may be its child too."""
    children = [child for child in psutil.Process().children() if child.pid != besides]
    return int(max(children, key=lambda child: child.create_time()).pid)


def adopt_orphans() -> None:
    """Become the parent of what outlives its parent below us, as an engine in the background does.

    So its processor time is known as ours once it has ended, and not taken for that of others.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "the orphans of this process can't be adopted")


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
