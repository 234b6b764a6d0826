"""What is measured, size by size."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bench.growth.fill import Filled
from bench.growth.made import Filter

OURS, BARE, PLAIN = "quinion, over MCP", "quinion", "plain stack"
"""Those who are asked. The last two are asked in the same way, without the protocol."""

Find = Callable[[str, Filter], Awaitable[list[str]]]
"""The ids of the chunks found for a question, under a filter."""


@dataclass(frozen=True)
class Asked:
    """A question that was answered."""

    who: str
    question: str
    filter: Filter
    ids: list[str]
    ms: float


@dataclass
class Size:
    """What was measured at one size."""

    chunks: int
    filled: Filled
    plain: Filled | None = None
    """The same by the plain stack's Chroma alone."""
    open_s: float = 0.0
    memory_mb: float = 0.0
    disk_mb: float = 0.0
    rounds: list[list[Asked]] = field(default_factory=list)
    recalls: dict[tuple[str, str], float] = field(default_factory=dict)
    """By who was asked, and the name of the filter."""


@dataclass
class Run:
    """All sizes, and what does not depend on them."""

    embed_cpu_ms: float
    """For one chunk."""
    engine: str
    empty_mb: float = 0.0
    sizes: list[Size] = field(default_factory=list)
