"""One round of the benchmark: empty stores, new processes, every document, every question.

Both sides run at once and take turns: a document to one, the same to the other, and the one
that begins alternates. So whatever else the machine does falls on both.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import TypeVar

from bench import figures
from bench.figures import Quantity, Series
from bench.processes import measure_cpu_s, measure_memory_mb, watch_memory
from bench.sides import Session

COLD_STARTS = 3
TIMES_ASKED = 3
"""Each question, in one round."""

Start = Callable[[Path, Path], AbstractAsyncContextManager[Session]]
T = TypeVar("T")


@dataclass(frozen=True)
class Work:
    """What both sides are given to do."""

    first: Path
    """Ingested before the others and not counted: at it both load what they load late."""
    files: Sequence[Path]
    page_count: int
    """Of `files`."""
    questions: Sequence[str]


@dataclass
class Side:
    """One of the two: how it is started, and what has been measured of it."""

    name: str
    start: Start
    folder: Path
    series: Series = field(default_factory=lambda: defaultdict(list))
    versions: dict[str, str] = field(default_factory=dict)

    def store(self, round_number: int) -> Path:
        return self.folder / f"{self.name}-{round_number}"

    def open(self, round_number: int) -> AbstractAsyncContextManager[Session]:
        return self.start(self.store(round_number), self.folder / f"{self.name}.log")

    def note(self, quantity: Quantity, value: float) -> None:
        self.series[quantity].append(value)


@dataclass
class Tally:
    """What a running process has been seen to take in this round."""

    side: Side
    session: Session
    wall_s: float = 0.0
    chunks: int = 0
    peak_mb: float = 0.0
    latencies_ms: list[float] = field(default_factory=list)

    async def ingest(self, file: Path) -> None:
        with watch_memory(self.session.pid) as peak:
            began = perf_counter()
            self.chunks += await self.session.ingest(file)
            self.wall_s += perf_counter() - began
        self.peak_mb = max(self.peak_mb, peak.megabytes)

    async def search(self, query: str) -> None:
        began = perf_counter()
        await self.session.search(query)
        self.latencies_ms.append(1000 * (perf_counter() - began))

    def cpu_s(self) -> float:
        return measure_cpu_s(self.session.pid)


class Turns:
    """Who begins: each time the other one."""

    def __init__(self, first: int) -> None:
        self._numbers = count(first)

    def take(self, sides: Sequence[T]) -> Sequence[T]:
        return sides if next(self._numbers) % 2 == 0 else sides[::-1]


async def run_round(sides: Sequence[Side], number: int, work: Work) -> None:
    """Measure everything once; what comes out is noted with the sides."""
    turns = Turns(number)
    async with AsyncExitStack() as stack:
        tallies = [await open_store(stack, side, number, work.first) for side in turns.take(sides)]
        await ingest(tallies, turns, work)
        await ask(tallies, turns, work.questions)
        for tally in tallies:
            tally.side.note(figures.PEAK, tally.peak_mb)
    for attempt in range(COLD_STARTS):
        for side in turns.take(sides):
            await start_cold(side, number, work.questions[attempt])


async def open_store(stack: AsyncExitStack, side: Side, number: int, first: Path) -> Tally:
    """Start on an empty store and ingest the first document."""
    began = perf_counter()
    session = await stack.enter_async_context(side.open(number))
    ready = perf_counter()
    side.versions = session.versions
    side.note(figures.IDLE, measure_memory_mb(session.pid))
    tally = Tally(side, session)
    await tally.ingest(first)
    side.note(figures.FIRST_DOCUMENT, ready - began + tally.wall_s)
    return Tally(side, session, peak_mb=tally.peak_mb)


async def ingest(tallies: Sequence[Tally], turns: Turns, work: Work) -> None:
    before_s = [tally.cpu_s() for tally in tallies]
    for file in work.files:
        for tally in turns.take(tallies):
            await tally.ingest(file)
    for tally, cpu_s in zip(tallies, before_s, strict=True):
        tally.side.note(figures.PAGES, work.page_count / tally.wall_s)
        tally.side.note(figures.CHUNKS, tally.chunks / tally.wall_s)
        tally.side.note(figures.CHUNKS_PER_CPU, tally.chunks / (tally.cpu_s() - cpu_s))


async def ask(tallies: Sequence[Tally], turns: Turns, questions: Sequence[str]) -> None:
    for tally in tallies:
        await tally.session.search(questions[0])  # not counted: it may load what is loaded late
    before_s = [tally.cpu_s() for tally in tallies]
    for question in [*questions] * TIMES_ASKED:
        for tally in turns.take(tallies):
            await tally.search(question)
    for tally, cpu_s in zip(tallies, before_s, strict=True):
        asked = len(tally.latencies_ms)
        tally.side.note(figures.QUERY_P50, figures.percentile(tally.latencies_ms, 50))
        tally.side.note(figures.QUERY_P99, figures.percentile(tally.latencies_ms, 99))
        tally.side.note(figures.QUERY_CPU, 1000 * (tally.cpu_s() - cpu_s) / asked)


async def start_cold(side: Side, number: int, question: str) -> None:
    """A new process on a store with documents, up to its first answer."""
    began = perf_counter()
    async with side.open(number) as session:
        side.note(figures.READY, perf_counter() - began)
        await session.search(question)
        side.note(figures.COLD, perf_counter() - began)
        side.note(figures.COLD_CPU, measure_cpu_s(session.pid))
