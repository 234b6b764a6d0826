"""Comparison of two revisions for a terminal: a summary table, then the changed sections."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from quinion.model.comparison import Change, Comparison, Row
from quinion.model.marked_text import Mark, Piece, mark_after, mark_before, mark_both

_STYLES = {Mark.SAME: "", Mark.REMOVED: "red strike", Mark.ADDED: "green bold"}
# Without colours, marks are what tells removed words from added ones.
_BRACKETS = {Mark.SAME: ("", ""), Mark.REMOVED: ("[-", "-]"), Mark.ADDED: ("{+", "+}")}

# Dots between a heading and its page in a table of contents.
_LEADERS = re.compile(r"\s*\.{5,}\s*")


def format_summary(
    before: Mapping[str, Any], after: Mapping[str, Any], comparison: Comparison
) -> RenderableType:
    """Format how many sections changed in which way."""
    names = [f"{one['version_label']} ({one['revision_id']})" for one in (before, after)]
    table = Table("change", "sections", "with other words")
    table.columns[1].justify = table.columns[2].justify = "right"
    for change, count in comparison.counts.items():
        if not count:
            continue
        reworded = sum(row.is_reworded for row in comparison.rows if row.change is change)
        table.add_row(change, str(count), str(reworded) if reworded else "")
    share = f"{comparison.changed_share:.1%} of the text was added, removed or replaced."
    return Group(Text(" → ".join(names), style="bold"), table, Text(share), Text())


def format_rows(comparison: Comparison, *, side_by_side: bool) -> Iterator[RenderableType]:
    """Format each changed section."""
    for row in comparison.changed:
        yield Rule()
        yield Text(_title(row), style="bold")
        yield _columns(row) if side_by_side else _join(mark_both(row))
        yield Text()


def _title(row: Row) -> str:
    words = [str(row.change)]
    if row.is_reworded and row.change is not Change.REWORDED:
        words.append("reworded")
    words += [f"{flag}!" for flag in row.flags]
    return f"{row.refs}: {', '.join(words)}"


def _columns(row: Row) -> Table:
    table = Table.grid(expand=True, padding=(0, 2))
    table.add_column(ratio=1)
    table.add_column(ratio=1)
    sides = mark_before(row) if row.before else [], mark_after(row) if row.after else []
    table.add_row(*map(_join, sides))
    return table


def _join(pieces: Sequence[Piece]) -> Text:
    text = Text()
    for piece in pieces:
        start, end = _BRACKETS[piece.mark]
        shown = _LEADERS.sub(" … ", piece.text)
        text.append(f"{start}{shown}{end}", style=_STYLES[piece.mark])
    return text
