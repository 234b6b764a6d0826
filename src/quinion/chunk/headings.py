"""What a chunk stands under, short enough to be embedded with it."""

from collections.abc import Sequence

from quinion.chunk.token_offsets import Measure

SEPARATOR = " > "

HEADING_SHARE = 4
"""A heading may take one part in so many of a chunk's size."""


def fit_heading(parts: Sequence[str], measure: Measure, limit: int) -> tuple[str, int]:
    """The parts, joined, without as many outer ones as are too many, and the tokens of it."""
    for outer in range(len(parts)):
        heading = SEPARATOR.join(parts[outer:])
        tokens = len(measure(heading))
        if tokens <= limit:
            return heading, tokens
    return "", 0
