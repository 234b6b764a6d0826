"""How many tokens a span of a text has, without tokenizing it again.

The text is tokenized once; a span's tokens are then counted by bisection. Between white space
and white space that is exact. A span that begins or ends inside a word is another matter: a part
of a word may have more tokens than the whole (a word of over 100 letters is a single unknown
one), so such a span is measured by itself where the number matters.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence

Span = tuple[int, int]
"""Start and end in a text."""

Measure = Callable[[str], Sequence[int]]
"""Gives the places, ascending, at which the embedding model's tokens of a text begin."""

CHARACTERS = 8
"""For each token that a span may have. Prose has four to five; what has more than this is data,
or blank, and would be no use as a chunk however few tokens it were."""

# White space to any tokenizer. Python's has control characters too, which BERT's drops.
_BLANKS = frozenset(" \t\n")


class TokenOffsets:
    """One text, and where its tokens are."""

    def __init__(self, text: str, measure: Measure) -> None:
        self.text = text
        self._measure = measure
        self._starts = measure(text)

    def count(self, start: int, end: int) -> int:
        """The tokens of the span as a text of its own."""
        if self._is_clean(start) and self._is_clean(end):
            return self._count(start, end)
        return len(self._measure(self.text[start:end]))

    def weigh(self, start: int, end: int) -> int:
        """How much of a chunk's size the span takes: its tokens, or more if it is long."""
        return max(self._count(start, end), -(-(end - start) // CHARACTERS))

    def reach(self, start: int, size: int) -> int:
        """The furthest end of a span from `start` that weighs no more than `size`."""
        beyond = bisect_left(self._starts, start) + size
        end = self._starts[beyond] if beyond < len(self._starts) else len(self.text)
        return min(end, start + CHARACTERS * size)

    def _count(self, start: int, end: int) -> int:
        return bisect_left(self._starts, end) - bisect_left(self._starts, start)

    def _is_clean(self, place: int) -> bool:
        """Whether no word goes on across this place."""
        around = self.text[max(place - 1, 0) : place + 1]
        return place in (0, len(self.text)) or not _BLANKS.isdisjoint(around)
