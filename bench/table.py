"""Numbers and tables as the page has them."""

from collections.abc import Iterable, Sequence
from statistics import median


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table: the first column to the left, the others to the right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def number(value: float) -> str:
    """Three digits that count: 0.0123, 1.23, 12.3, 1,234."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    exponent = int(f"{value:.2e}".partition("e")[2])
    digits = max(0, 2 - exponent) if value else 0
    return f"{value:.{digits}f}"


def measured(value: float, low: float, high: float, unit: str = "") -> str:
    """A median with its range, where there is one: 2.61× (2.50–2.84)."""
    mark = unit if unit in {"", "×", "%"} else f" {unit}"
    between = " to " if low < 0 else "–"
    ends = "" if low == high else f" ({number(low)}{between}{number(high)})"
    return f"{number(value)}{mark}{ends}"


def spread(values: Sequence[float], unit: str = "") -> str:
    """The median of the values, and their range."""
    return measured(median(values), min(values), max(values), unit)
