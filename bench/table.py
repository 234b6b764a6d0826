"""Formatting of numbers and Markdown tables."""

from collections.abc import Iterable, Sequence
from statistics import median


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Render a Markdown table: first column left-aligned, the others right-aligned."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def number(value: float) -> str:
    """Format with three significant digits: 0.0123, 1.23, 12.3, 1,234."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    exponent = int(f"{value:.2e}".partition("e")[2])
    digits = max(0, 2 - exponent) if value else 0
    return f"{value:.{digits}f}"


def measured(value: float, low: float, high: float, unit: str = "") -> str:
    """Format a median with its range, if any: 2.61× (2.50–2.84)."""
    mark = unit if unit in {"", "×", "%"} else f" {unit}"
    between = " to " if low < 0 else "–"
    ends = "" if low == high else f" ({number(low)}{between}{number(high)})"
    return f"{number(value)}{mark}{ends}"


def spread(values: Sequence[float], unit: str = "") -> str:
    """Format the median and range of the values."""
    return measured(median(values), min(values), max(values), unit)
