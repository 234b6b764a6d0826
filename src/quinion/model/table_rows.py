"""Table rows as Markdown or CSV."""

import csv
import io
from collections.abc import Sequence

# A spreadsheet executes cells that begin with one of these, unless a quote precedes it.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def to_markdown(rows: Sequence[Sequence[str]]) -> str:
    """Format a Markdown table with the first row as its header; empty without rows."""
    if not rows:
        return ""
    width = max(map(len, rows))
    head, *body = [_markdown_row(row, width) for row in rows]
    return "\n".join([head, "|" + " --- |" * width, *body])


def to_csv(rows: Sequence[Sequence[str]]) -> str:
    """Format CSV by RFC 4180, safe to open in a spreadsheet."""
    out = io.StringIO()
    csv.writer(out).writerows([[_defuse(cell) for cell in row] for row in rows])
    return out.getvalue()


def _markdown_row(row: Sequence[str], width: int) -> str:
    cells = [*row, *[""] * (width - len(row))]
    return "| " + " | ".join(_markdown_cell(cell) for cell in cells) + " |"


def _markdown_cell(cell: str) -> str:
    text = cell.replace("\\", "\\\\").replace("|", "\\|")
    return "<br>".join(part.strip() for part in text.splitlines())


def _defuse(cell: str) -> str:
    if cell.startswith(_FORMULA_STARTS) and not _is_number(cell):
        return "'" + cell
    return cell


def _is_number(cell: str) -> bool:
    # Negative numbers are common in tables, and a number is never a formula.
    try:
        float(cell.replace(",", "").replace(" ", "").rstrip("%"))
    except ValueError:
        return False
    return True
