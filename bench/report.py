"""The measurements as a part of `docs/benchmarks.md`."""

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from bench.figures import ALL, Quantity, Series, describe_target, is_met, ratios

LEAST_COSINE = 0.9999


@dataclass(frozen=True)
class Run:
    """One run of the benchmark, as the report tells it."""

    command: str
    repeats: int
    documents: int
    pages: int
    ours: Series
    plain: Series
    our_versions: Mapping[str, str]
    plain_versions: Mapping[str, str]
    others_share: float
    """The part of all cores that other programs kept busy during the run."""
    chunks: int
    same_texts: int
    cosine_min: float
    cosine_mean: float
    difference_max: float

    @property
    def agrees(self) -> bool:
        """Whether both sides have stored the same, without which no ratio means anything."""
        return self.same_texts == self.chunks and self.cosine_min >= LEAST_COSINE


def write_report(run: Run, left_out: Mapping[str, Sequence[str]]) -> str:
    """The part between the two marks."""
    return "\n".join(
        (
            f"`{run.command}`, {datetime.now(UTC):%d %B %Y}, rounds: {run.repeats}.",
            "",
            *_table(run),
            "",
            *_agreement(run),
            "",
            *_circumstances(run),
            *_left_out(left_out),
        )
    )


def replace_part(page: Path, name: str, part: str) -> None:
    """Put the part between the marks that have its name; what is around them stays."""
    begin, end = f"<!-- ingest, {name}: begin -->", f"<!-- ingest, {name}: end -->"
    before, found, rest = page.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise SystemExit(f"Not written to {page.name}: it has no {begin} with {end} after it.")
    page.write_text(f"{before}{begin}\n\n{part}\n\n{end}{after}")


def _table(run: Run) -> Iterator[str]:
    yield "| | plain stack | quinion | ratio (range) | target | |"
    yield "|---|---:|---:|---:|---:|---|"
    for quantity in ALL:
        yield _line(quantity, run.ours[quantity], run.plain[quantity])


def _line(quantity: Quantity, ours: Sequence[float], plain: Sequence[float]) -> str:
    paired = ratios(quantity, ours, plain)
    target = describe_target(quantity)
    verdict = ("met" if is_met(quantity, ours, plain) else "**missed**") if target else ""
    unit = "" if quantity.unit == "/s" else f" {quantity.unit}"
    return (
        f"| {quantity.name} | {_number(median(plain))}{unit} | {_number(median(ours))}{unit} "
        f"| **{median(paired):.2f}×** ({min(paired):.2f}–{max(paired):.2f}) "
        f"| {target} | {verdict} |"
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _agreement(run: Run) -> Iterator[str]:
    yield (
        f"The same on both sides: {run.same_texts:,} of {run.chunks:,} chunk texts, character "
        f"for character; cosine of their vectors at least {run.cosine_min:.7f}, "
        f"{run.cosine_mean:.7f} on average (target: {LEAST_COSINE} at least); no component "
        f"differs by more than {run.difference_max:.1g}."
    )


def _circumstances(run: Run) -> Iterator[str]:
    cores = len(os.sched_getaffinity(0))
    yield (
        f"- Machine: {cores} {'core' if cores == 1 else 'cores'} of {_processor()}, "
        f"{platform.system()}, Python {platform.python_version()}; "
        f"other programs kept {run.others_share:.0%} of the whole machine busy meanwhile."
    )
    yield f"- quinion: {_list_versions(run.our_versions)}."
    yield f"- Plain stack: {_list_versions(run.plain_versions)}."
    yield (
        f"- Measured on {run.documents} PDFs with {run.pages:,} pages, after a first one that is "
        f"not counted; {run.chunks:,} chunks with that one."
    )


def _left_out(groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for reason, names in groups.items():
        yield f"- Left out on both sides, {reason}: {', '.join(f'`{name}`' for name in names)}."


def _list_versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items())


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()
