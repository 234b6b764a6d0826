"""`make fuzz`: fuzz test of the workers with thousands of damaged PDFs.

Every case is surveyed, described and read with its lines. Some cases also run through OCR, figure
detection and Markdown conversion, which are slower. A sample goes through the tools of all servers.
The answer must be text or an error of the contract; anything else is a failure, printed with the
number of the case. `--case` with that number repeats it.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from mcp import MCPError

from quinion.concurrency import together
from quinion.embed.local.weights import prepare
from quinion.errors import FileProblem, QuinionError
from quinion.framing import Frame
from quinion.workers.kinds import DOCUMENTS, ELEMENTS, MARKDOWN, PAGES, WorkerKind
from quinion.workers.pool import Workers
from tests.contract.process import Home
from tests.documents import PROSE, text_pdf
from tests.hostile import report
from tests.hostile.mutate import SEED, Case, good_files, make_case
from tests.hostile.serving import MOST_BYTES, MOST_S, TAKEN, run_servers
from tests.hostile.watch import watch

CASES, SAMPLE, AT_ONCE = 10_000, 200, 2
SHOWN_EVERY = 500
# Every so many cases are read in the ways that take longer.
OCR_EVERY, ELEMENTS_EVERY, MARKDOWN_EVERY = 10, 20, 20
READ_PAGES = 4
CRASH = "made the reader crash"
TIMED_OUT = "Reading timed out after"
UNEXPECTED = "the reader failed with"

Job = tuple[WorkerKind, str, Frame]
"""Kind of worker, job and arguments."""


@dataclass
class Tally:
    """Outcomes of the cases by job."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest: float = 0.0
    slowest_case: int = 0
    peak: int = 0
    seconds: float = 0.0
    cases: int = 0

    def note(self, way: str, outcome: str, case: int, seconds: float) -> None:
        self.outcomes[way, outcome] += 1
        if seconds > self.slowest:
            self.slowest, self.slowest_case = seconds, case
        if seconds > MOST_S:
            self.failures.append(f"case {case}: {way} took {seconds:.0f} s")

    def note_peak(self, peak: int, most: int) -> None:
        self.peak = max(self.peak, peak)
        if peak > most:
            self.failures.append(f"memory: {peak / 1e6:,.0f} MB of {most / 1e6:,.0f} were taken")


def jobs_for(number: int, page_count: int) -> Iterator[Job]:
    """Return the jobs of a case after its survey."""
    span = {"first": 1, "last": min(page_count, READ_PAGES)}
    plain = {"ocr": False, "extension": ".pdf"}
    yield DOCUMENTS, "describe", {"options": plain}
    yield DOCUMENTS, "read_lined_pages", {**span, "options": plain}
    if number % OCR_EVERY == 0:
        page = {"first": 1, "last": 1, "options": {"ocr": True, "extension": ".pdf"}}
        yield DOCUMENTS, "probe", {"numbers": [1], "options": page["options"]}
        yield DOCUMENTS, "read_pages", page
    if number % ELEMENTS_EVERY == 1:
        yield ELEMENTS, "find_elements", {**span, "ocr": False}
        yield PAGES, "picture", {"page": 1, "extension": ".pdf"}
        yield PAGES, "page_words", {"page": 1, "options": plain}
    if number % MARKDOWN_EVERY == 2:
        yield MARKDOWN, "read_markdown", {**span, "sizes": [], "options": plain}


class Fuzzer:
    """Runs cases on the workers and counts the outcomes."""

    def __init__(self, folder: Path, pools: dict[WorkerKind, Workers], seed: int) -> None:
        self.tally = Tally()
        self._folder = folder
        self._pools = pools
        self._seed = seed
        self._good = text_pdf(folder / "good.pdf", PROSE)

    async def run(self, numbers: Sequence[int]) -> None:
        """Run the cases with these numbers, two at a time."""
        began = time.monotonic()
        pending = iter(numbers)

        async def work() -> None:
            for number in pending:
                await self.try_case(make_case(number, self._seed))
                self.tally.cases += 1
                if self.tally.cases % SHOWN_EVERY == 0:
                    seconds = time.monotonic() - began
                    print(f"{self.tally.cases:6} cases, {seconds:5.0f} s", flush=True)

        with watch(os.getpid()) as watching:
            await together(*[work] * AT_ONCE)
            await self._check_good_file()
        self.tally.seconds = time.monotonic() - began
        self.tally.note_peak(watching.peak, AT_ONCE * MOST_BYTES)

    async def try_case(self, case: Case) -> None:
        """Run all jobs of a case."""
        path = self._folder / f"case-{case.number}.pdf"
        path.write_bytes(case.data)
        options = {"first": 1, "last": READ_PAGES, "options": {"ocr": False, "extension": ".pdf"}}
        try:
            pages = await self._do(case, path, (DOCUMENTS, "survey", options))
            if pages:
                for job in jobs_for(case.number, pages[0]["page_count"]):
                    await self._do(case, path, job)
        finally:
            path.unlink()

    async def _do(self, case: Case, path: Path, job: Job) -> list[Frame]:
        kind, name, arguments = job
        items: list[Frame] = []

        async def keep(item: Frame) -> None:
            _check_text(item)
            items.append(item)

        began = time.monotonic()
        outcome = "read"
        try:
            await self._pools[kind].run(name, keep, path=str(path), **arguments)
        except FileProblem as error:
            outcome, items = _name_of(error), []
        except (QuinionError, ValueError, KeyError, TypeError) as error:
            self.tally.failures.append(f"case {case.number}: {name}: {error!r}")
            outcome, items = "failure", []
        self.tally.note(name, outcome, case.number, time.monotonic() - began)
        if outcome in {"crash", "unexpected"}:
            changes = ", ".join(case.changes)
            print(f"case {case.number} ({case.base}; {changes}): {name}: {outcome}", flush=True)
        return items

    async def _check_good_file(self) -> None:
        """Check that the workers still read a good file."""
        options = {"ocr": False, "extension": ".pdf"}
        item = await self._pools[DOCUMENTS].first(
            "survey", path=str(self._good), first=1, last=1, options=options
        )
        if PROSE.split("\n")[0] not in item["text"]:
            self.tally.failures.append("a good file is no longer read")


def _check_text(item: Any) -> None:
    """Check that all text is encodable, i.e. without lone surrogates. Raises ValueError."""
    if isinstance(item, str):
        item.encode()
    elif isinstance(item, dict):
        for value in item.values():
            _check_text(value)
    elif isinstance(item, list):
        for value in item:
            _check_text(value)


def _name_of(error: FileProblem) -> str:
    for text, name in ((CRASH, "crash"), (TIMED_OUT, "given up"), (UNEXPECTED, "unexpected")):
        if text in str(error):
            return name
    return error.code


async def fuzz(folder: Path, numbers: Sequence[int], seed: int = SEED) -> Tally:
    """Try the cases of these numbers on workers of each kind."""
    async with AsyncExitStack() as stack:
        pools = {}
        for kind in (DOCUMENTS, ELEMENTS, MARKDOWN, PAGES):
            pools[kind] = Workers(AT_ONCE, kind=kind)
            stack.push_async_callback(pools[kind].close)
        fuzzer = Fuzzer(folder, pools, seed)
        await fuzzer.run(numbers)
        return fuzzer.tally


def fuzz_servers(home: Home, numbers: Sequence[int], seed: int = SEED) -> Tally:
    """Try the cases of these numbers through the tool of each server."""
    tally = Tally()
    with run_servers(home) as servers:
        for number in numbers:
            path = home.files / f"case-{number}.pdf"
            path.write_bytes(make_case(number, seed).data)
            for server in TAKEN:
                try:
                    outcome = servers.give(server, path)
                except (AssertionError, MCPError, TimeoutError) as error:
                    tally.failures.append(f"case {number}: {server}: {error!r}")
                    continue
                tally.note(server, outcome.said, number, outcome.seconds)
                tally.note_peak(outcome.peak, MOST_BYTES)
                tally.seconds += outcome.seconds
            tally.cases += 1
            path.unlink()
    return tally


def main() -> None:
    """Run as `python -m tests.hostile.fuzz`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--sample", type=int, default=SAMPLE, help="cases for the servers' tools")
    parser.add_argument("--case", type=int, help="this one alone")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--write", action="store_true", help="put the table into docs/hostile.md")
    given = parser.parse_args()
    numbers = range(given.cases) if given.case is None else [given.case]
    step = max(1, given.cases // max(1, given.sample))
    sampled = range(0, given.cases, step)[: given.sample] if given.case is None else numbers
    print(f"seed {given.seed}, {len(numbers):,} cases of {len(good_files())} good files")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        by_workers = anyio.run(fuzz, folder, numbers, given.seed)
        by_servers = Tally()
        if sampled:
            home = Home(folder / "home", folder)
            home.path.mkdir()
            prepare(home.path / "models")
            by_servers = fuzz_servers(home, sampled, given.seed)
    lines = report.fuzz_table(by_workers, by_servers, given.seed, len(good_files()))
    print("\n".join(lines))
    if given.write:
        report.write_part("fuzz", lines)
    failures = by_workers.failures + by_servers.failures
    for failure in failures:
        print(f"{failure} (seed {given.seed})")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
