"""Measured quantities, and the ratio of two series.

The sides alternate, so the n-th values of two sides were measured under the same load and form a
pair. Each pair gives one ratio. A ratio above 1 means that quinion is better, for any quantity.
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
CHUNK_CPU = Quantity("ingest, CPU time per chunk", "ms")
EMBEDDING_CPU = Quantity("ingest, CPU time of the embedding threads", "s")
BEHIND_CPU = Quantity("after the answer, CPU time per chunk", "ms")
AGAIN = Quantity("ingest of the unchanged documents again", "s")
FIRST_DOCUMENT = Quantity("empty store: start to first document ingested", "s")
COLD = Quantity("cold start: start to first answer", "s")
COLD_CPU = Quantity("cold start, CPU time", "s")
READY = Quantity("start to ready", "s")
IDLE = Quantity("memory when ready, before first use", "MB")
PEAK = Quantity("memory, peak while ingesting", "MB")
QUERY_P50 = Quantity("query, p50", "ms")
QUERY_P99 = Quantity("query, p99", "ms")
REPEATED_P50 = Quantity("repeated query, p50", "ms")
REPEATED_P99 = Quantity("repeated query, p99", "ms")

ALL = (
    *(INGEST, PAGES, CHUNKS, CHUNK_CPU, BEHIND_CPU, AGAIN, FIRST_DOCUMENT),
    *(COLD, COLD_CPU, READY, IDLE, PEAK),
    *(QUERY_P50, QUERY_P99, REPEATED_P50, REPEATED_P99),
)
"""Quantities in the order of the table."""

Series = dict[Quantity, list[float]]


def ratios(quantity: Quantity, ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Return quinion's advantage for each pair."""
    pairs = zip(ours, theirs, strict=True)
    return [a / b if quantity.more_is_better else b / a for a, b in pairs]


def percentile(values: Sequence[float], percent: int) -> float:
    return quantiles(values, n=100, method="inclusive")[percent - 1]
