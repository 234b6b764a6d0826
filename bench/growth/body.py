"""Claims and Markdown of the growth part."""

import os
from collections.abc import Collection, Sequence
from statistics import median

from bench.growth.found import BARE, OURS, PLAIN, Asked, Run, Size
from bench.growth.made import FILTERS, PART_OF_PATH
from bench.part import Claim, claim
from bench.table import number, table

LEAST_RECALL = 0.98
MILLION = 1_000_000
UNFILTERED = FILTERS[0].name
NAMES = [filter_.name for filter_ in (*FILTERS, PART_OF_PATH)]
ALL = {filter_.name for filter_ in FILTERS}
TARGETS = {50: 3.0, 99: 5.0}
"""Target by percentile, for searches of all kinds: equally many per filter, and without one."""


def claims_of(run: Run) -> list[Claim]:
    """Claims about speed, recall and memory by size."""
    claims: list[Claim] = []
    for size in run.sizes:
        if size.plain:
            for percent, target in TARGETS.items():
                whom = f"{size.chunks:,} chunks, p{percent} against the plain stack"
                together, alone = ratios(size, ALL, percent), ratios(size, {UNFILTERED}, percent)
                claims.append(claim(f"searches, {whom}", together, "×", target))
                claims.append(claim(f"  of them without a filter, {whom}", alone, "×"))
        if size.chunks >= 100_000:
            what = f"the slowest filter against none, p50 at {size.chunks:,} chunks"
            claims.append(claim(what, filtered_ratios(size), "×", 2.0, at_most=True))
        recalls = [share for (who, _), share in size.recalls.items() if who != PLAIN]
        what = f"recall@10 at {size.chunks:,} chunks, the lowest of all filters"
        claims.append(claim(what, [min(recalls)], "", LEAST_RECALL))
    first, last = run.sizes[0], run.sizes[-1]
    compared = f"at {last.chunks:,} chunks against {first.chunks:,}"
    cost = ingest_ms(run, last) / ingest_ms(run, first)
    claims.append(claim(f"ingest cost of a chunk {compared}", [cost], "×", 1.3, at_most=True))
    memory = writing_kb(last) / writing_kb(first)
    claims.append(claim(f"memory of a chunk {compared}", [memory], "×", 1.3, at_most=True))
    return claims


def series_of(run: Run) -> dict[str, list[tuple[float, float]]]:
    """Query p50 by size."""
    return {
        name: [(size.chunks, latency(size, OURS, name, 50)) for size in run.sizes] for name in NAMES
    }


def write_body(run: Run) -> str:
    return "\n\n".join(
        (
            "One DocVec index grows from size to size. Its texts are real (Cranfield, XQuAD) and "
            "repeat. Embedding a million would take hours, so each vector is a blend of two real "
            "ones with some noise. The questions are real, and each is asked once. Embedding "
            f"takes {number(run.embed_cpu_ms)} ms of CPU time per chunk (`{run.engine}`), which "
            "is added to the cost of storing.",
            table(("", *(f"{size.chunks:,} chunks" for size in run.sizes)), rows(run)),
            "Milliseconds from request line to answer line: p50, p99, and recall@10 against exact "
            f"search. *{OURS}* is the server as clients use it. *{BARE}* is its engine, which "
            "reads lines of JSON like the plain stack; these two are compared, with equally many "
            "searches for each filter and without one. The plain stack is fastest without a "
            "filter, where embedding the question takes most of the time on both sides.",
            table(("filter", *(f"{size.chunks:,} chunks" for size in run.sizes)), searches(run)),
            machine_limits(run),
        )
    )


def machine_limits(run: Run) -> str:
    """Estimate the limits of one machine from the largest size."""
    largest = run.sizes[-1]
    cores = len(os.sched_getaffinity(0))
    hours = ingest_ms(run, largest) * MILLION / cores / 3_600_000
    fitting = 8_000_000 / writing_kb(largest) / MILLION
    return (
        "**Limits of one machine.** Time is the first limit: at this rate, ingesting a million "
        f"chunks takes {number(hours)} hours on {cores} cores. Memory during ingest is the second, "
        f"nearly all of it Chroma's graph: 8 GB are enough for {number(fitting)} million chunks; a "
        "server that only searches needs far less. Query latency grows with the number of chunks, "
        "since all binary codes are compared. For larger collections, use one home per part (by "
        "authority, by year) or a separate Chroma server (`CHROMA_URL`)."
    )


def rows(run: Run) -> list[list[str]]:
    def row(what: str, values: Sequence[float]) -> list[str]:
        return [what, *map(number, values)]

    sizes = run.sizes
    return [
        row("storing, CPU ms per chunk", [size.filled.cpu_ms for size in sizes]),
        row("embedding and storing, CPU ms per chunk", [ingest_ms(run, size) for size in sizes]),
        row("memory while storing, MB", [size.filled.after_mb for size in sizes]),
        row("  of it per chunk, kB", [writing_kb(size) for size in sizes]),
        row("memory while searching, MB", [size.memory_mb for size in sizes]),
        row("  of it per chunk, kB", [answering_kb(run, size) for size in sizes]),
        row("disk, kB per chunk", [1000 * size.disk_mb / size.chunks for size in sizes]),
        row("process start to first answer, s", [size.open_s for size in sizes]),
    ]


def searches(run: Run) -> list[list[str]]:
    asked = [(who, name) for who in (OURS, BARE, PLAIN) for name in NAMES]
    asked.remove((PLAIN, PART_OF_PATH.name))
    return [
        [f"{who}: {name}", *(cell(size, who, name) for size in run.sizes)] for who, name in asked
    ]


def cell(size: Size, who: str, name: str) -> str:
    if (who, name) not in size.recalls:
        return ""
    shown = [number(latency(size, who, name, percent)) for percent in (50, 99)]
    return f"{shown[0]} / {shown[1]} / {size.recalls[who, name]:.3f}"


def latency(size: Size, who: str, name: str, percent: int) -> float:
    """Return a latency percentile over all rounds."""
    asked = [one for part in size.rounds for one in part]
    return percentile([x.ms for x in asked if x.who == who and x.filter.name == name], percent)


def ratios(size: Size, names: Collection[str], percent: int) -> list[float]:
    """Return the plain stack's latency divided by quinion's for these filters, by round."""

    def reach(part: Sequence[Asked], who: str) -> float:
        times = [one.ms for one in part if one.who == who and one.filter.name in names]
        return percentile(times, percent)

    return [reach(part, PLAIN) / reach(part, BARE) for part in rounds_with(size, PLAIN)]


def filtered_ratios(size: Size) -> list[float]:
    """Return the slowest filter's p50 divided by that without a filter, by round."""
    found = []
    for part in rounds_with(size, OURS):
        medians = {
            name: median(x.ms for x in part if x.who == OURS and x.filter.name == name)
            for name in NAMES
        }
        found.append(max(medians.values()) / medians[UNFILTERED])
    return found


def rounds_with(size: Size, who: str) -> list[list[Asked]]:
    return [part for part in size.rounds if any(one.who == who for one in part)]


def ingest_ms(run: Run, size: Size) -> float:
    return run.embed_cpu_ms + size.filled.cpu_ms


def writing_kb(size: Size) -> float:
    return 1000 * (size.filled.after_mb - size.filled.before_mb) / size.chunks


def answering_kb(run: Run, size: Size) -> float:
    return 1000 * (size.memory_mb - run.empty_mb) / size.chunks


def percentile(values: Sequence[float], percent: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]
