"""Timeline of policy revisions, drawn as text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta

from quinion.model.policy import Revision

LABEL_WIDTH = 24
CHANGED_WIDTH = len(" 100% changed")
MARGIN = timedelta(days=180)


def draw_timeline(
    revisions: Sequence[Revision],
    today: date,
    width: int,
    changed_shares: Mapping[str, float] | None = None,
) -> Iterator[str]:
    """Draw one bar per revision, oldest first, with the years below; `▏` marks today.

    `░` marks a revision without text, `▶` a revision without an end date. `changed_shares` has how
    much of the text changed, by revision id; it is written behind the bar.
    """
    if not revisions:
        return
    shares = changed_shares or {}
    columns = max(20, width - LABEL_WIDTH - 2 - (CHANGED_WIDTH if shares else 0))
    first = min(revision.effective_from for revision in revisions)
    ends = [revision.effective_to or revision.effective_from for revision in revisions]
    last = min(max(*ends, today), date.max - MARGIN) + MARGIN

    def column(day: date) -> int:
        return round((day - first).days / (last - first).days * (columns - 1))

    for revision in sorted(revisions, key=lambda revision: revision.effective_from):
        start, end = column(revision.effective_from), column(min(revision.last_day, last))
        bar = ("█" if revision.is_ready else "░") * (end - start + 1)
        if revision.effective_to is None:
            bar = bar[:-1] + "▶"
        row = (" " * start + bar).ljust(columns)
        now = column(today)
        if row[now] == " ":
            row = row[:now] + "▏" + row[now + 1 :]
        if (share := shares.get(revision.revision_id)) is not None:
            row += f" {share:4.0%} changed"
        yield f"{revision.version_label[:LABEL_WIDTH]:{LABEL_WIDTH}} {row.rstrip()}"
    yield f"{'':{LABEL_WIDTH}} {_years(first, last, column, columns)}"


def _years(first: date, last: date, column: Callable[[date], int], columns: int) -> str:
    """Label each year at its first day where the label fits; the first year at the left edge."""
    row = [" "] * columns
    for day in [*(date(year, 1, 1) for year in range(last.year, first.year, -1)), first]:
        start = column(day)
        if "".join(row[start : start + 6]) == " " * 6:
            row[start : start + 4] = str(day.year)
    return "".join(row).rstrip()
