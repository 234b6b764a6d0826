"""Lines of a text: numbered from 1, and ended by a line feed and nothing else."""

from itertools import accumulate


class LineCounter:
    """The lines of places that are asked for in ascending order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._line = 1

    def at(self, place: int) -> int:
        """The number of the line that the place is in."""
        self._line += self._text.count("\n", self._place, place)
        self._place = place
        return self._line


def line_starts(text: str) -> list[int]:
    """Where each line begins, and at last where the text ends."""
    starts = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
    starts[-1] = len(text)
    return starts
