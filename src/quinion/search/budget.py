"""Token budget: choose the hits that fit into a limited number of tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from quinion.model.record import Hit


@dataclass(frozen=True, slots=True)
class Selection:
    """The hits that fit, best first, and their total number of tokens."""

    hits: tuple[Hit, ...]
    tokens: int


def select(hits: Sequence[Hit], tokens: Sequence[int], budget: int) -> Selection:
    """Select the best hits that fit; a hit that is too large is skipped for smaller ones."""
    chosen: list[Hit] = []
    used = 0
    for hit, size in zip(hits, tokens, strict=True):
        if used + size <= budget:
            chosen.append(hit)
            used += size
    return Selection(tuple(chosen), used)
