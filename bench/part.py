"""A part of the benchmark: what it is given, and what it comes back with.

Each part is a module with `async def measure(setting: Setting) -> Part`. It runs in a process of
its own, so what it returns travels as JSON.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Setting:
    """What a part is given."""

    corpus: Path
    """The folder of documents to measure with."""
    scratch: Path
    """A folder for this run, removed afterwards."""
    peer: Path
    """Python of the peers' environment."""
    quick: bool
    """All parts together within two minutes: one round of little."""


@dataclass(frozen=True)
class Claim:
    """One line of the table at the top of the page."""

    what: str
    value: float
    """The median."""
    low: float
    """The range over rounds or documents; both equal to `value` where there is only one."""
    high: float
    unit: str
    """"×", "ms", or nothing."""
    target: float | None
    at_most: bool = False
    """The target is an upper limit, else a lower one."""

    @property
    def met(self) -> bool | None:
        """Whether the median reaches the target; None where there is none."""
        if self.target is None:
            return None
        return self.value <= self.target if self.at_most else self.value >= self.target


@dataclass(frozen=True)
class Part:
    """What was measured, as the page tells it."""

    name: str
    title: str
    body: str
    """Markdown: tables, circumstances, how to read them."""
    claims: Sequence[Claim]
    series: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    """What the plot shows, if anything."""


def read_part(stored: Mapping[str, Any]) -> Part:
    """A part from its JSON, which is that of `dataclasses.asdict`."""
    return Part(
        name=stored["name"],
        title=stored["title"],
        body=stored["body"],
        claims=[Claim(**claim) for claim in stored["claims"]],
        series={
            name: [(float(x), float(y)) for x, y in points]
            for name, points in stored["series"].items()
        },
    )


def claim(
    what: str,
    values: Sequence[float],
    unit: str = "×",
    target: float | None = None,
    *,
    at_most: bool = False,
) -> Claim:
    """The median of what was measured, with its range."""
    return Claim(what, median(values), min(values), max(values), unit, target, at_most)
