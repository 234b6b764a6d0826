"""Results of `quinion search` as text."""

from collections.abc import Iterable

from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from quinion.console.passages import Passage

GAP = "   "
"""Separates the place of a passage from details, such as its application."""
INDENT = len("10. ")


def print_results(passages: Iterable[Passage]) -> None:
    """Print the results in their order; long texts wrap with a hanging indent.

    Scores are not shown: those of words and meaning together have no unit. `--json` has them.
    """
    console = Console()
    grid = Table.grid(padding=(0, 1, 0, 0))
    for number, passage in enumerate(passages, 1):
        place, _, details = passage.place.partition(GAP)
        head = Text.assemble((passage.title, "bold"), f", {place}" if place else "")
        if details:
            details = details.replace(GAP, " · ")
            is_short = len(head) + len(details) + len(GAP) + INDENT <= console.width
            head.append(f"{GAP if is_short else chr(10)}{details}", style="cyan")
        grid.add_row(f"{number}.", head)
        for line in (" ".join(passage.text.split()), *(f"also: {one}" for one in passage.others)):
            grid.add_row("", Text(line))
        if passage.location:
            grid.add_row("", Text(passage.location, Style(link=passage.location), overflow="fold"))
    console.print(grid)
