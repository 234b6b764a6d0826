"""The figures of docs/hostile.md: written by who measures them, between two marks."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

PAGE = Path(__file__).parents[2] / "docs" / "hostile.md"


class Counted(Protocol):
    """What was counted."""

    outcomes: Counter[tuple[str, str]]
    failures: list[str]
    slowest: float
    slowest_case: int
    peak: int
    seconds: float
    cases: int


def write_part(name: str, lines: Iterable[str]) -> None:
    """Put lines in the place of those between the marks of that name."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    page = PAGE.read_text()
    part = "\n".join((begin, "", *lines, "", end))
    new, count = re.subn(
        f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: part, page, flags=re.DOTALL
    )
    assert count == 1, f"{PAGE.name} has no part for {name}"
    PAGE.write_text(new)


def keep_rows(name: str, rows: Iterable[Sequence[str]]) -> list[Sequence[str]]:
    """These rows, and those that the table of that name has beside them."""
    part = PAGE.read_text().partition(f"<!-- {name} -->")[2].partition("<!--")[0]
    cells = ([cell.strip() for cell in line.split("|")[1:-1]] for line in part.splitlines())
    known: dict[str, Sequence[str]] = {row[0]: row for row in cells if row and row[0][:1] == "`"}
    return list({**known, **{row[0]: row for row in rows}}.values())


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table in Markdown: the first column is text, the others are numbers."""
    return [
        f"| {' | '.join(head)} |",
        f"|---{'|---:' * (len(head) - 1)}|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def outcome_table(counted: Counted, first: str) -> list[str]:
    """How often each way ended in each outcome."""
    names = sorted({name for _, name in counted.outcomes})
    ways = list(dict.fromkeys(way for way, _ in counted.outcomes))
    return table(
        (first, *(name.replace("_", " ") for name in names)),
        ((way, *(f"{counted.outcomes[way, name]:,}" for name in names)) for way in ways),
    )


def fuzz_table(workers: Counted, servers: Counted, seed: int, files: int) -> list[str]:
    """What `make fuzz` found."""
    lines = [
        f"{workers.cases:,} cases of {files} good files, seed {seed}, through the workers in "
        f"{workers.seconds / 60:.0f} minutes: {len(workers.failures)} failures; the slowest job "
        f"took {workers.slowest:.1f} s (case {workers.slowest_case}); six workers with all "
        f"that they started took {workers.peak / 1e6:,.0f} MB at the most.",
        "",
        *outcome_table(workers, "job"),
    ]
    if servers.cases:
        lines += [
            "",
            f"{servers.cases:,} of them through each server's tool: {len(servers.failures)} "
            f"failures; the slowest call took {servers.slowest:.1f} s (case "
            f"{servers.slowest_case}), server and workers {servers.peak / 1e6:,.0f} MB.",
            "",
            *outcome_table(servers, "server"),
        ]
    return lines
