"""What is measured, and how two series of it become a line of the table.

Values are paired: the n-th of ours and the n-th of the plain stack were taken one right after
the other, so what else the machine was doing slowed both. A ratio is taken of each pair, and
the table has their median and range. Above 1 ours is better, whatever the quantity.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles


@dataclass(frozen=True)
class Quantity:
    name: str
    unit: str
    more_is_better: bool = False
    least_ratio: float | None = None
    most_of_ours: float | None = None


PAGES = Quantity("ingest, pages/s", "/s", True, least_ratio=1.3)
CHUNKS = Quantity("ingest, chunks/s", "/s", True, least_ratio=1.3)
CHUNKS_PER_CPU = Quantity("ingest, chunks per CPU-second", "/s", True)
FIRST_DOCUMENT = Quantity("empty store: process start to first document ingested", "s")
COLD = Quantity("cold start: process start to first answer", "s", least_ratio=4.0)
COLD_CPU = Quantity("cold start, CPU-seconds", "s")
READY = Quantity("process start to ready", "s")
QUERY_P50 = Quantity("query, p50", "ms")
QUERY_P99 = Quantity("query, p99", "ms")
QUERY_CPU = Quantity("query, CPU-milliseconds", "ms")
IDLE = Quantity("memory when ready, before first use", "MB", most_of_ours=200)
PEAK = Quantity("memory, peak", "MB", most_of_ours=700)

ALL = (
    *(PAGES, CHUNKS, CHUNKS_PER_CPU, FIRST_DOCUMENT, COLD, COLD_CPU, READY),
    *(QUERY_P50, QUERY_P99, QUERY_CPU, IDLE, PEAK),
)
"""In the table's order."""

Series = dict[Quantity, list[float]]


def ratios(quantity: Quantity, ours: Sequence[float], plain: Sequence[float]) -> list[float]:
    """How many times better ours is, for each pair."""
    pairs = zip(ours, plain, strict=True)
    return [a / b if quantity.more_is_better else b / a for a, b in pairs]


def percentile(values: Sequence[float], percent: int) -> float:
    return quantiles(values, n=100, method="inclusive")[percent - 1]


def is_met(quantity: Quantity, ours: Sequence[float], plain: Sequence[float]) -> bool:
    """Whether the target holds; the median counts for a ratio, the worst value for a limit."""
    if quantity.least_ratio is not None:
        return median(ratios(quantity, ours, plain)) >= quantity.least_ratio
    return quantity.most_of_ours is None or max(ours) < quantity.most_of_ours


def describe_target(quantity: Quantity) -> str:
    if quantity.least_ratio is not None:
        return f"≥ {quantity.least_ratio:g}×"
    if quantity.most_of_ours is not None:
        return f"< {quantity.most_of_ours:g} {quantity.unit}"
    return ""
