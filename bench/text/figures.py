"""What is measured of each side, and how two series of it become a ratio.

Values are paired: the n-th of one side and the n-th of another were taken in turns, so what else
the machine was doing slowed both. A ratio is taken of each pair. Above 1 ours is better, whatever
the quantity.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import quantiles


@dataclass(frozen=True)
class Quantity:
    name: str
    unit: str
    more_is_better: bool = False


INGEST = Quantity("ingest, all documents", "s")
PAGES = Quantity("ingest, pages/s", "", more_is_better=True)
CHUNKS = Quantity("ingest, chunks/s", "", more_is_better=True)
CHUNK_CPU = Quantity("ingest, processor time a chunk", "ms")
EMBEDDING_CPU = Quantity("ingest, processor time of the threads that embed", "s")
BEHIND_CPU = Quantity("after the answer, processor time a chunk", "ms")
AGAIN = Quantity("ingesting all of it again, unchanged", "s")
FIRST_DOCUMENT = Quantity("empty store: start to first document ingested", "s")
COLD = Quantity("cold start: start to first answer", "s")
COLD_CPU = Quantity("cold start, processor time", "s")
READY = Quantity("start to ready", "s")
IDLE = Quantity("memory when ready, before first use", "MB")
PEAK = Quantity("memory, peak while ingesting", "MB")
QUERY_P50 = Quantity("query, p50", "ms")
QUERY_P99 = Quantity("query, p99", "ms")
REPEATED_P50 = Quantity("query asked before, p50", "ms")
REPEATED_P99 = Quantity("query asked before, p99", "ms")

ALL = (
    *(INGEST, PAGES, CHUNKS, CHUNK_CPU, BEHIND_CPU, AGAIN, FIRST_DOCUMENT),
    *(COLD, COLD_CPU, READY, IDLE, PEAK),
    *(QUERY_P50, QUERY_P99, REPEATED_P50, REPEATED_P99),
)
"""In the table's order."""

Series = dict[Quantity, list[float]]


def ratios(quantity: Quantity, ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """How many times better ours is, for each pair."""
    pairs = zip(ours, theirs, strict=True)
    return [a / b if quantity.more_is_better else b / a for a, b in pairs]


def percentile(values: Sequence[float], percent: int) -> float:
    return quantiles(values, n=100, method="inclusive")[percent - 1]
