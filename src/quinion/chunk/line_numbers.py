"""Line numbers of a text: 1-based; only a line feed ends a line."""

from itertools import accumulate


class LineCounter:
    """Maps offsets to line numbers. Offsets must be requested in ascending order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._offset = 0
        self._line = 1

    def at(self, offset: int) -> int:
        """Return the number of the line with this offset."""
        self._line += self._text.count("\n", self._offset, offset)
        self._offset = offset
        return self._line


def line_starts(text: str) -> list[int]:
    """Return the offset of each line, followed by the end of the text."""
    starts = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
    starts[-1] = len(text)
    return starts
