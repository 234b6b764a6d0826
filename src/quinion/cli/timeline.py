"""Revisions of a policy as bars on a line of time, for a terminal."""

from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta

from quinion.model.policy import Revision

LABEL_WIDTH = 24
MARGIN = timedelta(days=180)


def draw_timeline(revisions: Sequence[Revision], today: date, width: int) -> Iterator[str]:
    """A bar for each revision, oldest at the top, and the years below; `▏` is today.

    `░` marks a revision whose text is not there, `▶` one without an end.
    """
    if not revisions:
        return
    columns = max(20, width - LABEL_WIDTH - 2)
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
        place = column(today)
        if row[place] == " ":
            row = row[:place] + "▏" + row[place + 1 :]
        yield f"{revision.version_label[:LABEL_WIDTH]:{LABEL_WIDTH}} {row.rstrip()}"
    yield f"{'':{LABEL_WIDTH}} {_years(first, last, column, columns)}"


def _years(first: date, last: date, column: Callable[[date], int], columns: int) -> str:
    """Each year where it begins, as far as there is room; the first where the line does."""
    row = [" "] * columns
    for day in [*(date(year, 1, 1) for year in range(last.year, first.year, -1)), first]:
        place = column(day)
        if "".join(row[place : place + 6]) == " " * 6:
            row[place : place + 4] = str(day.year)
    return "".join(row).rstrip()
