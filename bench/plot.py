"""SVG plot of `docs/benchmarks.md`.

Left: the speed-up over the peers, with a bar for the median, a line for the range and a mark for
the target. Right: query latency by store size. Both use logarithmic scales. The background is
white, so that the plot is readable on a dark page too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import log, log10

from bench.part import Claim, Part
from bench.table import number

WIDTH = 980
MARGIN = 28
LEFT, MIDDLE, RIGHT = MARGIN, 560, WIDTH - MARGIN
TOP = 64
ROW = 46
FONT = "ui-sans-serif, system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"
INK, FAINT, RULE = "#1f2937", "#64748b", "#e2e8f0"
MET, MISSED = "#2563eb", "#d97706"
COLOURS = ("#2563eb", "#64748b", "#0d9488", "#d97706", "#9333ea", "#dc2626")
LEAST_ROWS = 6
STEPS = [digit * 10.0**exponent for exponent in range(-6, 10) for digit in (1, 2, 5)]

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Scale:
    """Logarithmic axis between two round numbers."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> "Scale":
        below = [step for step in STEPS if step <= min(values)]
        above = [step for step in STEPS if step >= max(values) and step > below[-1]]
        return cls(below[-1], above[0], start, end)

    def place(self, value: float) -> float:
        share = log(value / self.low) / log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        return [step for step in STEPS if self.low <= step <= self.high]


def draw(parts: Sequence[Part]) -> str:
    """Render the plot."""
    claims = [claim for part in parts for claim in part.claims if _is_gain(claim)]
    series = {name: points for part in parts for name, points in part.series.items() if points}
    height = TOP + ROW * max(len(claims), LEAST_ROWS) + 52
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'width="{WIDTH}" height="{height}" role="img" font-family="{FONT}" '
            'aria-label="How many times better quinion is, and how long a query takes as a store '
            'grows.">',
            f'<rect width="{WIDTH}" height="{height}" rx="12" fill="#ffffff"/>',
            *(_bars(claims, height - 52) if claims else ()),
            *(_curves(series, height - 52) if series else ()),
            "</svg>\n",
        )
    )


def _is_gain(claim: Claim) -> bool:
    """Whether the claim is a speed-up over a peer."""
    return claim.unit == "×" and not claim.at_most and claim.low > 0


def _bars(claims: Sequence[Claim], bottom: float) -> Iterator[str]:
    values = [1.0, *(end for claim in claims for end in (claim.low, claim.high))]
    scale = Scale.over([*values, *(c.target for c in claims if c.target)], LEFT, MIDDLE - 70)
    yield _text(LEFT, 34, "How many times better quinion is", size=15, weight=600)
    yield _text(LEFT, 52, "median, range; the mark is the target", colour=FAINT)
    for tick in scale.ticks():
        yield _line(scale.place(tick), TOP, scale.place(tick), bottom, RULE)
        yield _text(scale.place(tick), bottom + 18, f"{tick:g}×", colour=FAINT, anchor="middle")
    for row, claim in enumerate(claims):
        yield from _bar(claim, TOP + ROW * row + 6, scale)


def _bar(claim: Claim, top: float, scale: Scale) -> Iterator[str]:
    colour = MISSED if claim.met is False else MET
    begin, end, y = scale.place(1), scale.place(claim.value), top + 27
    yield _text(LEFT, top + 13, claim.what)
    yield (
        f'<rect x="{min(begin, end):.1f}" y="{top + 20}" width="{abs(end - begin):.1f}" '
        f'height="14" rx="2" fill="{colour}" fill-opacity="0.85"/>'
    )
    low, high = scale.place(claim.low), scale.place(claim.high)
    yield _line(low, y, high, y, INK, 1.5)
    for place in (low, high):
        yield _line(place, y - 4, place, y + 4, INK, 1.5)
    target = scale.place(claim.target) if claim.target else end
    if claim.target:
        yield _line(target, top + 17, target, top + 37, "#dc2626", 2)
    yield _text(max(end, high, target) + 8, y + 5, f"{number(claim.value)}×", size=13, weight=600)


def _curves(series: Mapping[str, Points], bottom: float) -> Iterator[str]:
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    across = Scale.over(xs, MIDDLE + 60, RIGHT - 28)
    up = Scale.over(ys, bottom - 24 - 20 * len(series), TOP + 8)
    floor_y = up.place(up.low)
    yield _text(MIDDLE + 24, 34, "How long a query takes as a store grows", size=15, weight=600)
    yield _text(MIDDLE + 24, 52, "median in milliseconds, by the number of chunks", colour=FAINT)
    for tick in across.ticks():
        yield _line(across.place(tick), TOP + 8, across.place(tick), floor_y, RULE)
        place = across.place(tick)
        if log10(tick).is_integer():
            yield _text(place, floor_y + 18, f"{tick:,.0f}", colour=FAINT, anchor="middle")
    for tick in up.ticks():
        yield _line(across.start, up.place(tick), across.end, up.place(tick), RULE)
        yield _text(
            across.start - 8, up.place(tick) + 4, f"{tick:g} ms", colour=FAINT, anchor="end"
        )
    for index, (name, points) in enumerate(series.items()):
        colour = COLOURS[index % len(COLOURS)]
        yield from _curve(sorted(points), across, up, colour)
        y = floor_y + 44 + 20 * index
        yield _line(MIDDLE + 60, y - 4, MIDDLE + 84, y - 4, colour, 2.5)
        x, value = max(points)
        yield _text(MIDDLE + 92, y, f"{name}: {number(value)} ms at {x:,.0f}")


def _curve(points: Points, across: Scale, up: Scale, colour: str) -> Iterator[str]:
    places = [(across.place(x), up.place(y)) for x, y in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>'
    for x, y in places:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'


def _text(
    x: float,
    y: float,
    text: str,
    *,
    size: int = 12,
    colour: str = INK,
    weight: int = 400,
    anchor: str = "start",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" '
        f'font-weight="{weight}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{colour}" stroke-width="{width}"/>'
    )
