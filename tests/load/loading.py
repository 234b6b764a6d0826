"""Load test of all servers; `measure` serves both the test and `make load`.

    searches alone → all calls at once for the given time → a new process with the same home

Measured are: errors other than "busy", the p99 of searches against that of searches alone, the
slope of open files after the first third, and memory against that of the new process. Ingested
documents legitimately use memory; memory above that of the new process is leaked.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context

import anyio
import psutil

from tests.contract.process import Home
from tests.doors.house import DOCUMENT_STORE, House, open_house
from tests.load.clients import READERS, SEARCHERS, WRITERS, Crowd, Tally

MIB = 1 << 20
SETTINGS = {"QUINION_WORKERS": "2"}


@dataclass(frozen=True)
class Report:
    """Result of a run."""

    lasting_s: float
    calls: int
    busy: int
    failures: list[str]
    idle_p99_s: float
    p99_s: float
    memory_mib: float
    fresh_mib: float
    handle_growth: float

    @property
    def slower(self) -> float:
        """Return the slowdown of searches under load."""
        return self.p99_s / self.idle_p99_s

    @property
    def lost_mib(self) -> float:
        """Return the memory above that of a new process."""
        return self.memory_mib - self.fresh_mib

    def lines(self) -> list[str]:
        return [
            f"{SEARCHERS + READERS + WRITERS} clients for {self.lasting_s:.0f} s: "
            f"{self.calls} calls, {self.busy} refused as busy, {len(self.failures)} failures",
            f"p99 of searches: {self.idle_p99_s * 1000:.0f} ms alone, "
            f"{self.p99_s * 1000:.0f} ms under load: {self.slower:.1f} times slower",
            f"memory: {self.memory_mib:.0f} MiB at the end, {self.fresh_mib:.0f} MiB in a new "
            f"process with the same home; open files: {self.handle_growth:+.1f}",
        ]


def measure(home: Home, lasting_s: float) -> Report:
    """Start the servers, run the load, and return the report."""
    folder = home.files / "load"
    folder.mkdir()
    pool = ProcessPoolExecutor(1, get_context("spawn"))
    with pool:
        with open_house(home, SETTINGS) as house:
            crowd = Crowd(house, folder, pool)
            anyio.run(_warm, crowd)
            idle = anyio.run(_run, crowd, min(lasting_s / 2, 60.0), False)
            with _watched(house) as samples:
                loaded = anyio.run(_run, crowd, lasting_s, True)
            memory = _memory(house)
        with open_house(home, SETTINGS) as house:
            anyio.run(_warm, Crowd(house, folder, pool))
            fresh = _memory(house)
    return Report(
        lasting_s,
        loaded.calls,
        loaded.busy,
        [*idle.failures, *loaded.failures],
        idle.p99("search"),
        loaded.p99("search"),
        memory,
        fresh,
        _growth(samples[len(samples) // 3 :]),
    )


def _memory(house: House) -> float:
    return float(psutil.Process(house[DOCUMENT_STORE].process.pid).memory_info().rss / MIB)


async def _warm(crowd: Crowd) -> None:
    """Make the first calls, which load models and start workers and are not measured."""
    await crowd.run(8.0, writing=True)


async def _run(crowd: Crowd, lasting_s: float, writing: bool) -> Tally:
    return await crowd.run(lasting_s, writing=writing)


@contextmanager
def _watched(house: House) -> Iterator[list[tuple[float, int]]]:
    """Sample the open files of the server's process once a second."""
    process = psutil.Process(house[DOCUMENT_STORE].process.pid)
    samples: list[tuple[float, int]] = []
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(1.0):
            samples.append((time.monotonic(), process.num_fds()))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield samples
    finally:
        stop.set()
        thread.join()


def _growth(points: Sequence[tuple[float, float]]) -> float:
    """Return the rise of the regression line from the first point to the last."""
    count = len(points)
    middle_x = sum(x for x, _ in points) / count
    middle_y = sum(y for _, y in points) / count
    spread = sum((x - middle_x) ** 2 for x, _ in points)
    if not spread:
        return 0.0
    slope = sum((x - middle_x) * (y - middle_y) for x, y in points) / spread
    return slope * (points[-1][0] - points[0][0])
