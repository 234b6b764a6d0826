"""Which hits to hand over when there is room for so many tokens only."""

from collections.abc import Sequence
from dataclasses import dataclass

from quinion.model.record import Hit


@dataclass(frozen=True, slots=True)
class Selection:
    """The hits that fit, best first, and the tokens that they have together."""

    hits: tuple[Hit, ...]
    tokens: int


def select(hits: Sequence[Hit], tokens: Sequence[int], budget: int) -> Selection:
    """The best hits that fit; one that does not is passed over for smaller ones after it."""
    chosen: list[Hit] = []
    used = 0
    for hit, size in zip(hits, tokens, strict=True):
        if used + size <= budget:
            chosen.append(hit)
            used += size
    return Selection(tuple(chosen), used)
