"""A table's rows as text: Markdown to read, CSV to count with. Pure."""

import csv
import io
from collections.abc import Sequence

# A spreadsheet runs a cell that begins like this; with a quote before it, it shows it.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def to_markdown(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose first row is the head; empty for no rows."""
    if not rows:
        return ""
    width = max(map(len, rows))
    head, *body = [_markdown_row(row, width) for row in rows]
    return "\n".join([head, "|" + " --- |" * width, *body])


def to_csv(rows: Sequence[Sequence[str]]) -> str:
    """CSV as RFC 4180 has it, safe to open in a spreadsheet."""
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
    # Minus signs are everyday in tables; nothing that is a number can be a formula.
    try:
        float(cell.replace(",", "").replace(" ", "").rstrip("%"))
    except ValueError:
        return False
    return True
