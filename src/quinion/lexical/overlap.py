"""Text that two texts have in common: an overlap at their ends, or most of their words."""

import re

SHINGLE_WORDS = 5
MIN_OVERLAP = 20
"""Shorter common ends are coincidence."""
MAX_OVERLAP = 2_000
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")

Shingles = frozenset[tuple[str, ...]]
"""All sequences of five words of a text; of a shorter one, all its words."""


def find_shingles(text: str) -> Shingles:
    """Find the shingles of a text, without regard to case and white space."""
    words = text.casefold().split()
    if len(words) < SHINGLE_WORDS:
        return frozenset({tuple(words)} if words else ())
    return frozenset(
        tuple(words[start : start + SHINGLE_WORDS])
        for start in range(len(words) - SHINGLE_WORDS + 1)
    )


def find_numbers(text: str) -> frozenset[str]:
    """Find the numbers in a text: texts with other numbers say something else."""
    return frozenset(_NUMBER.findall(text))


def measure_overlap(first: str, second: str) -> int:
    """Length of the longest end of the first text that the second begins with.

    Returns 0 if that is too short to be more than coincidence. A second text that is within the
    first one overlaps it completely.
    """
    if len(second) >= MIN_OVERLAP and second in first:
        return len(second)
    longest = min(len(first), len(second), MAX_OVERLAP)
    lengths = range(longest, MIN_OVERLAP - 1, -1)
    return next((length for length in lengths if first.endswith(second[:length])), 0)
