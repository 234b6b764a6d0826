"""Writer of the measured parts of docs/hostile.md, between two marks each."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

PAGE = Path(__file__).parents[2] / "docs" / "hostile.md"


class Counted(Protocol):
    """Results of a run."""

    outcomes: Counter[tuple[str, str]]
    failures: list[str]
    slowest: float
    slowest_case: int
    peak: int
    seconds: float
    cases: int


def write_part(name: str, lines: Iterable[str]) -> None:
    """Replace the lines between the marks of that name."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    page = PAGE.read_text()
    part = "\n".join((begin, "", *lines, "", end))
    new, count = re.subn(
        f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: part, page, flags=re.DOTALL
    )
    assert count == 1, f"{PAGE.name} has no part {name}"
    PAGE.write_text(new)


def keep_rows(name: str, rows: Iterable[Sequence[str]]) -> list[Sequence[str]]:
    """Merge these rows into those of the table of that name."""
    part = PAGE.read_text().partition(f"<!-- {name} -->")[2].partition("<!--")[0]
    cells = ([cell.strip() for cell in line.split("|")[1:-1]] for line in part.splitlines())
    known: dict[str, Sequence[str]] = {row[0]: row for row in cells if row and row[0][:1] == "`"}
    return list({**known, **{row[0]: row for row in rows}}.values())


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Format a Markdown table: the first column is text, the others are numbers."""
    return [
        f"| {' | '.join(head)} |",
        f"|---{'|---:' * (len(head) - 1)}|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def outcome_table(counted: Counted, first: str) -> list[str]:
    """Count the outcomes of each job or server."""
    names = sorted({name for _, name in counted.outcomes})
    ways = list(dict.fromkeys(way for way, _ in counted.outcomes))
    return table(
        (first, *(name.replace("_", " ") for name in names)),
        ((way, *(f"{counted.outcomes[way, name]:,}" for name in names)) for way in ways),
    )


def fuzz_table(workers: Counted, servers: Counted, seed: int, files: int) -> list[str]:
    """Format the results of `make fuzz`."""
    lines = [
        f"{workers.cases:,} cases of {files} valid files, seed {seed}, in the workers in "
        f"{workers.seconds / 60:.0f} minutes: {len(workers.failures)} failures; the slowest job "
        f"took {workers.slowest:.1f} s (case {workers.slowest_case}); six workers and their "
        f"subprocesses used at most {workers.peak / 1e6:,.0f} MB.",
        "",
        *outcome_table(workers, "job"),
    ]
    if servers.cases:
        lines += [
            "",
            f"{servers.cases:,} of them with each server's tool: {len(servers.failures)} "
            f"failures; the slowest call took {servers.slowest:.1f} s (case "
            f"{servers.slowest_case}), server and workers used {servers.peak / 1e6:,.0f} MB.",
            "",
            *outcome_table(servers, "server"),
        ]
    return lines
