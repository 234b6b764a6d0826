"""One round: empty stores, new processes, every document, every question.

All sides run at once and alternate: each ingests the same portion of documents in turn, and a
different side starts each time. Background load therefore affects all sides alike.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import TypeVar

from bench.processes import (
    measure_cpu_s,
    measure_embedding_s,
    measure_memory_mb,
    wait_until_idle,
    watch_memory,
)
from bench.sides import Session
from bench.text import figures
from bench.text.figures import Quantity, Series
from bench.text.stages import Alone, StagesSession, run_stages
from bench.text.work import Work

FIRST_QUESTION = "What is this about?"
"""Not counted: it triggers lazy loading on all sides."""

Start = Callable[[Path, Path], AbstractAsyncContextManager[Session]]
T = TypeVar("T")


@dataclass
class Side:
    """A compared side: how to start it, and its measurements."""

    name: str
    start: Start
    folder: Path
    deduplicates: bool = False
    """Whether it recognises a document that is already stored."""
    works_on: bool = False
    """Whether it continues to work after its answer; the next side then waits for it."""
    series: Series = field(default_factory=lambda: defaultdict(list))
    versions: dict[str, str] = field(default_factory=dict)

    def store(self, round_number: int) -> Path:
        return self.folder / f"{self.name.replace(' ', '-')}-{round_number}"

    def open(self, round_number: int) -> AbstractAsyncContextManager[Session]:
        return self.start(self.store(round_number), self.folder / f"{self.name}.log")

    def note(self, quantity: Quantity, value: float) -> None:
        self.series[quantity].append(value)


@dataclass
class Tally:
    """Costs of one session in this round."""

    side: Side
    session: Session
    wall_s: float = 0.0
    cpu_s: float = 0.0
    embedding_cpu_s: float = 0.0
    behind_cpu_s: float = 0.0
    chunks: int = 0
    peak_mb: float = 0.0

    async def ingest(self, files: Sequence[Path]) -> None:
        cpu_s = measure_cpu_s(*self.session.pids)
        embedding_cpu_s = measure_embedding_s(*self.session.pids)
        with watch_memory(*self.session.pids) as peak:
            began = perf_counter()
            self.chunks += await self.session.ingest(files)
            self.wall_s += perf_counter() - began
            print(f"  {self.side.name}: {self.chunks} chunks, {self.wall_s:.1f} s", file=sys.stderr)
            answered_cpu_s = measure_cpu_s(*self.session.pids)
            if self.side.works_on:
                await wait_until_idle(*self.session.pids)
        self.cpu_s += answered_cpu_s - cpu_s
        self.embedding_cpu_s += measure_embedding_s(*self.session.pids) - embedding_cpu_s
        self.behind_cpu_s += measure_cpu_s(*self.session.pids) - answered_cpu_s
        self.peak_mb = max(self.peak_mb, peak.megabytes)


class Rotation:
    """Order of the sides: a different one starts each time."""

    def __init__(self, first: int) -> None:
        self._numbers = count(first)

    def next(self, sides: Sequence[T]) -> list[T]:
        begin = next(self._numbers) % len(sides)
        return [*sides[begin:], *sides[:begin]]


async def run_round(
    ours: Side, peers: Sequence[Side], number: int, work: Work, cold_starts: int
) -> Alone:
    """Measure everything once; returns the stage costs and records the rest in the sides."""
    rotation, sides = Rotation(number), [*peers, ours]
    async with AsyncExitStack() as stack:
        tallies = [
            await open_store(stack, side, number, work.warm_up) for side in rotation.next(sides)
        ]
        stages = await stack.enter_async_context(run_stages(ours.store(number), work.warm_up))
        for portion in work.portions:
            taking: list[Tally | StagesSession] = [*tallies, stages]
            for one in rotation.next(taking):
                await one.ingest(portion)
        for tally in tallies:
            note_ingest(tally, work.page_count)
        for tally in tallies:
            await tally.session.search(FIRST_QUESTION)
        await ask(tallies, rotation, work.questions, figures.QUERY_P50, figures.QUERY_P99)
        await ask(tallies, rotation, work.questions, figures.REPEATED_P50, figures.REPEATED_P99)
        await ingest_again([tally for tally in tallies if tally.side.deduplicates], work)
    for attempt in range(cold_starts):
        for side in rotation.next(sides):
            await start_cold(side, number, work.questions[attempt])
    return stages.alone


async def open_store(
    stack: AsyncExitStack, side: Side, number: int, warm_up: Sequence[Path]
) -> Tally:
    """Start a side on an empty store and ingest the warm-up documents."""
    began = perf_counter()
    session = await stack.enter_async_context(side.open(number))
    ready = perf_counter()
    side.versions = session.versions
    side.note(figures.IDLE, measure_memory_mb(*session.pids))
    tally = Tally(side, session)
    await tally.ingest(warm_up[:1])
    side.note(figures.FIRST_DOCUMENT, ready - began + tally.wall_s)
    await tally.ingest(warm_up[1:])
    return Tally(side, session, peak_mb=tally.peak_mb)


def note_ingest(tally: Tally, page_count: int) -> None:
    tally.side.note(figures.INGEST, tally.wall_s)
    tally.side.note(figures.PAGES, page_count / tally.wall_s)
    tally.side.note(figures.CHUNKS, tally.chunks / tally.wall_s)
    tally.side.note(figures.CHUNK_CPU, 1000 * tally.cpu_s / tally.chunks)
    tally.side.note(figures.PEAK, tally.peak_mb)
    tally.side.note(figures.EMBEDDING_CPU, tally.embedding_cpu_s)
    if tally.side.works_on:
        tally.side.note(figures.BEHIND_CPU, 1000 * tally.behind_cpu_s / tally.chunks)


async def ask(
    tallies: Sequence[Tally],
    rotation: Rotation,
    questions: Sequence[str],
    p50: Quantity,
    p99: Quantity,
) -> None:
    latencies_ms: dict[str, list[float]] = defaultdict(list)
    for question in questions:
        for tally in rotation.next(tallies):
            began = perf_counter()
            await tally.session.search(question)
            latencies_ms[tally.side.name].append(1000 * (perf_counter() - began))
    for tally in tallies:
        tally.side.note(p50, figures.percentile(latencies_ms[tally.side.name], 50))
        tally.side.note(p99, figures.percentile(latencies_ms[tally.side.name], 99))


async def ingest_again(tallies: Sequence[Tally], work: Work) -> None:
    """Ingest the unchanged documents again."""
    for tally in tallies:
        began = perf_counter()
        await tally.session.ingest(work.files)
        tally.side.note(figures.AGAIN, perf_counter() - began)


async def start_cold(side: Side, number: int, question: str) -> None:
    """Start a new process on a filled store and measure the time to its first answer."""
    began = perf_counter()
    async with side.open(number) as session:
        side.note(figures.READY, perf_counter() - began)
        await session.search(question)
        side.note(figures.COLD, perf_counter() - began)
        side.note(figures.COLD_CPU, measure_cpu_s(*session.pids))
