"""Data types of a benchmark part: its input, its claims and its result.

Each part is a module with `async def measure(setting: Setting) -> Part`. It runs in a separate
process, so the result is serialised as JSON.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Setting:
    """Input of a part."""

    corpus: Path
    """The folder of documents to measure with."""
    scratch: Path
    """Temporary folder of this run."""
    peer: Path
    """Python interpreter of the peers' environment."""
    quick: bool
    """Run one small round, so that all parts together take less than two minutes."""


@dataclass(frozen=True)
class Claim:
    """One row of the table at the top of the page."""

    what: str
    value: float
    """The median."""
    low: float
    """Minimum over rounds or documents; equal to `value` if there is only one."""
    high: float
    unit: str
    """"×", "ms" or empty."""
    target: float | None
    at_most: bool = False
    """Whether the target is an upper limit instead of a lower one."""

    @property
    def met(self) -> bool | None:
        """Whether the median reaches the target; None without a target."""
        if self.target is None:
            return None
        return self.value <= self.target if self.at_most else self.value >= self.target


@dataclass(frozen=True)
class Part:
    """Result of a part, as rendered on the page."""

    name: str
    title: str
    body: str
    """Markdown: tables, conditions and notes on how to read them."""
    claims: Sequence[Claim]
    series: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    """Curves for the plot, if any."""


def read_part(stored: Mapping[str, Any]) -> Part:
    """Load a part from JSON as written by `dataclasses.asdict`."""
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
    """Build a claim from the median and range of the values."""
    return Claim(what, median(values), min(values), max(values), unit, target, at_most)
