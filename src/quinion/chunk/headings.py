"""Headings of chunks, short enough to be embedded with them."""

from collections.abc import Sequence

from quinion.chunk.token_offsets import Measure

SEPARATOR = " > "

HEADING_SHARE = 4
"""A heading may use one part in `HEADING_SHARE` of a chunk's size."""


def fit_heading(parts: Sequence[str], measure: Measure, limit: int) -> tuple[str, int]:
    """Join the parts, dropping outer ones until they fit; return the heading and its tokens."""
    for outer in range(len(parts)):
        heading = SEPARATOR.join(parts[outer:])
        tokens = len(measure(heading))
        if tokens <= limit:
            return heading, tokens
    return "", 0
