"""Metrics in the text format of Prometheus.

A source yields families when it is asked; only calls are counted in between. The format is a few
lines of text, so this module replaces `prometheus-client`, whose registry is global to a process.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS_S = (0.005, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0, 60.0, 600.0)
"""Upper bounds of durations: searches take milliseconds, long scans minutes."""

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Family:
    """Samples of one metric. `suffix` is appended to the name (`_bucket`, `_sum`)."""

    name: str
    kind: str
    help: str
    samples: list[tuple[str, Labels, float]] = field(default_factory=list)

    def add(self, value: float, suffix: str = "", **labels: str) -> "Family":
        """Add a sample."""
        self.samples.append((suffix, labels, value))
        return self


Source = Callable[[], Iterable[Family]]


def render(families: Iterable[Family]) -> str:
    """Render families; those without samples are left out."""
    return "".join(line + "\n" for family in families for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    if not family.samples:
        return
    yield f"# HELP {family.name} {family.help}"
    yield f"# TYPE {family.name} {family.kind}"
    for suffix, labels, value in family.samples:
        listed = ",".join(f'{name}="{_escape(text)}"' for name, text in labels.items())
        shown = f"{{{listed}}}" if listed else ""
        yield f"{family.name}{suffix}{shown} {value:.12g}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class CallMetrics:
    """Calls, errors and durations of a server, by tool."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.active = 0
        self._errors: Counter[tuple[str, str]] = Counter()
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._buckets: dict[str, list[int]] = {}

    def observe(self, tool: str, error: str, duration_s: float) -> None:
        """Count a call that has ended; `error` is its code, or empty."""
        if error:
            self._errors[tool, error] += 1
        self._sums[tool] += duration_s
        buckets = self._buckets.setdefault(tool, [0] * (len(BUCKETS_S) + 1))
        buckets[bisect_left(BUCKETS_S, duration_s)] += 1

    def collect(self) -> Iterator[Family]:
        """Yield the families of this server."""
        calls = Family("quinion_calls_total", "counter", "Calls of tools that have ended.")
        errors = Family("quinion_call_errors_total", "counter", "Calls that failed, by error code.")
        durations = Family(
            "quinion_call_duration_seconds", "histogram", "Durations of calls in seconds."
        )
        for tool, buckets in self._buckets.items():
            labels = {"server": self.server, "tool": tool}
            calls.add(sum(buckets), **labels)
            total = 0
            for bound, count in zip((*BUCKETS_S, float("inf")), buckets, strict=True):
                total += count
                shown = "+Inf" if bound == float("inf") else f"{bound:g}"
                durations.add(total, "_bucket", **labels, le=shown)
            durations.add(self._sums[tool], "_sum", **labels).add(total, "_count", **labels)
        for (tool, code), count in self._errors.items():
            errors.add(count, server=self.server, tool=tool, code=code)
        active = Family("quinion_calls_active", "gauge", "Calls of tools that are running.")
        yield from (calls, errors, durations, active.add(self.active, server=self.server))
