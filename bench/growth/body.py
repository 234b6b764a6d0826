"""Growth as the page tells it."""

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
"""By percentile; for searches of all kinds together, as many with each filter as with none."""


def claims_of(run: Run) -> list[Claim]:
    """What the issue of speed asks for, as far as sizes matter."""
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
            "One index of DocVec grows from size to size. Its texts are real (Cranfield, XQuAD), "
            "over and over; embedding a million would take hours, so each vector is a blend of "
            "two real ones with some noise. The questions are real, and none is asked twice. "
            f"Embedding costs {number(run.embed_cpu_ms)} ms of a core for one chunk "
            f"(`{run.engine}`), and is added to what storing costs.",
            table(("", *(f"{size.chunks:,} chunks" for size in run.sizes)), rows(run)),
            "Milliseconds from the request's line to the answer's: p50, p99, and recall@10 held "
            f"against exact search. *{OURS}* is the server as a client meets it. *{BARE}* is its "
            "engine, asked in lines of JSON as the plain stack is: these two are compared, by as "
            "many searches with each filter as without. Without one the plain stack is at its "
            "best, and most of what is left on both sides is embedding the question.",
            table(("filter", *(f"{size.chunks:,} chunks" for size in run.sizes)), searches(run)),
            where_it_ends(run),
        )
    )


def where_it_ends(run: Run) -> str:
    """What stops a machine first, by what was measured at the largest size."""
    largest = run.sizes[-1]
    cores = len(os.sched_getaffinity(0))
    hours = ingest_ms(run, largest) * MILLION / cores / 3_600_000
    fitting = 8_000_000 / writing_kb(largest) / MILLION
    return (
        "**Where one machine ends.** Time comes first: at this rate a million chunks take "
        f"{number(hours)} hours to be taken in on {cores} cores. Then memory while documents are "
        f"taken in, nearly all of it Chroma's graph: 8 GB are enough for {number(fitting)} million "
        "chunks; a server that only answers needs far less. Time to answer grows with the number "
        "of chunks, since all codes are compared. Beyond that: a home for each part (by authority, "
        "by year), or a Chroma server of its own (`CHROMA_URL`)."
    )


def rows(run: Run) -> list[list[str]]:
    def row(what: str, values: Sequence[float]) -> list[str]:
        return [what, *map(number, values)]

    sizes = run.sizes
    return [
        row("storing a chunk, ms of a core", [size.filled.cpu_ms for size in sizes]),
        row("embedding and storing, ms of a core", [ingest_ms(run, size) for size in sizes]),
        row("memory while storing, MB", [size.filled.after_mb for size in sizes]),
        row("  of it for each chunk, kB", [writing_kb(size) for size in sizes]),
        row("memory while answering, MB", [size.memory_mb for size in sizes]),
        row("  of it for each chunk, kB", [answering_kb(run, size) for size in sizes]),
        row("disk, kB for each chunk", [1000 * size.disk_mb / size.chunks for size in sizes]),
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
    """Over all rounds."""
    asked = [one for part in size.rounds for one in part]
    return percentile([x.ms for x in asked if x.who == who and x.filter.name == name], percent)


def ratios(size: Size, names: Collection[str], percent: int) -> list[float]:
    """The plain stack's latency over ours under these filters, in each round."""

    def reach(part: Sequence[Asked], who: str) -> float:
        times = [one.ms for one in part if one.who == who and one.filter.name in names]
        return percentile(times, percent)

    return [reach(part, PLAIN) / reach(part, BARE) for part in rounds_with(size, PLAIN)]


def filtered_ratios(size: Size) -> list[float]:
    """The slowest filter's p50 over that without any, in each round."""
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
