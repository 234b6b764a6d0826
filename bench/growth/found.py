"""Data types of the measurements by size."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bench.growth.fill import Filled
from bench.growth.made import Filter

OURS, BARE, PLAIN = "quinion, over MCP", "quinion", "plain stack"
"""The measured sides. The last two read lines of JSON, without MCP."""

Find = Callable[[str, Filter], Awaitable[list[str]]]
"""Search function: returns the chunk ids for a question and a filter."""


@dataclass(frozen=True)
class Asked:
    """One timed search."""

    who: str
    question: str
    filter: Filter
    ids: list[str]
    ms: float


@dataclass
class Size:
    """Measurements at one size."""

    chunks: int
    filled: Filled
    plain: Filled | None = None
    """Cost of storing with the plain stack's Chroma alone."""
    open_s: float = 0.0
    memory_mb: float = 0.0
    disk_mb: float = 0.0
    rounds: list[list[Asked]] = field(default_factory=list)
    recalls: dict[tuple[str, str], float] = field(default_factory=dict)
    """Recall by side and filter name."""


@dataclass
class Run:
    """Measurements of all sizes, and those that do not depend on the size."""

    embed_cpu_ms: float
    """CPU time of embedding one chunk."""
    engine: str
    empty_mb: float = 0.0
    sizes: list[Size] = field(default_factory=list)
