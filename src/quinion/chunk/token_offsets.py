"""Token counts of spans, from one tokenization of the text.

The text is tokenized once; the tokens of a span are then counted by bisection. That is exact for
spans between white space. A span that starts or ends inside a word may differ: part of a word may
have more tokens than the full word (a word of over 100 letters is a single unknown token). Where
the number matters, such a span is tokenized separately.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence

Span = tuple[int, int]
"""Start and end in a text."""

Measure = Callable[[str], Sequence[int]]
"""Returns the offsets of the embedding model's tokens in a text, ascending."""

CHARACTERS = 8
"""Most characters per token of a chunk. Prose has four to five; text with more is data or blank,
and useless as a longer chunk."""

# White space for any tokenizer. Python's includes control characters, which BERT's drops.
_BLANKS = frozenset(" \t\n")


class TokenOffsets:
    """A text and the offsets of its tokens."""

    def __init__(self, text: str, measure: Measure) -> None:
        self.text = text
        self._measure = measure
        self._starts = measure(text)

    def count(self, start: int, end: int) -> int:
        """Count the tokens of the span as a separate text."""
        if self._is_boundary(start) and self._is_boundary(end):
            return self._count(start, end)
        return len(self._measure(self.text[start:end]))

    def weigh(self, start: int, end: int) -> int:
        """Return the part of a chunk's size that the span uses: its tokens, or more if long."""
        return max(self._count(start, end), -(-(end - start) // CHARACTERS))

    def reach(self, start: int, size: int) -> int:
        """Return the furthest end of a span from `start` whose weight is at most `size`."""
        beyond = bisect_left(self._starts, start) + size
        end = self._starts[beyond] if beyond < len(self._starts) else len(self.text)
        return min(end, start + CHARACTERS * size)

    def _count(self, start: int, end: int) -> int:
        return bisect_left(self._starts, end) - bisect_left(self._starts, start)

    def _is_boundary(self, offset: int) -> bool:
        """Check that no word extends across this offset."""
        around = self.text[max(offset - 1, 0) : offset + 1]
        return offset in (0, len(self.text)) or not _BLANKS.isdisjoint(around)
