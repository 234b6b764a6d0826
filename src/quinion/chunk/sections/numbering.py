"""Which numbers at the beginnings of lines count the document's sections.

A document has many lines that begin with a number: paragraphs, but also items of lists, table
cells, years, and sentences that happen to break before a figure. The ones that count are the
longest chain in which each follows the one before: 116 after 115, 5.13 or 6.1 after 5.12.
"""

from collections.abc import Sequence

Number = tuple[int, ...]

# What a gap in the numbering takes away, for each number that is missing, and at most. A
# paragraph whose number cannot be read costs little; a stray number far ahead has to be
# followed by several before it is believed.
_MISSING = 0.4
_MOST_MISSING = 5
# Nothing so far back can be the one before.
_WINDOW = 300


def best_chain(
    numbers: Sequence[Number], weights: Sequence[float] | None = None, *, strict: bool = True
) -> list[int]:
    """The places of the numbers that form the best ascending chain.

    Not `strict` means that gaps cost nothing.
    """
    weights = weights or [1.0] * len(numbers)
    scores: list[float] = []
    before: list[int] = []
    for place, number in enumerate(numbers):
        best, link = 0.0, -1
        for earlier in range(max(0, place - _WINDOW), place):
            if numbers[earlier] < number:
                cost = _cost(numbers[earlier], number) if strict else 0.0
                if scores[earlier] - cost > best:
                    best, link = scores[earlier] - cost, earlier
        scores.append(weights[place] + best)
        before.append(link)
    chain: list[int] = []
    place = max(range(len(scores)), key=scores.__getitem__, default=-1)
    while place >= 0:
        chain.append(place)
        place = before[place]
    return chain[::-1]


def follows(earlier: Number, later: Number) -> bool:
    """Whether nothing can be missing between the two: 5.12, then 5.13, 5.12.1, 6 or 6.1."""
    if later[: len(earlier)] == earlier:
        return later[len(earlier) :] == (1,)
    for depth, (old, new) in enumerate(zip(earlier, later, strict=False)):
        if old != new:
            return new == old + 1 and all(step == 1 for step in later[depth + 1 :])
    return False


def _cost(earlier: Number, later: Number) -> float:
    if follows(earlier, later):
        return 0.0
    missing = _MOST_MISSING
    for depth, (old, new) in enumerate(zip(earlier, later, strict=False)):
        if old != new:
            started_late = sum(step - 1 for step in later[depth + 1 :])
            missing = min(_MOST_MISSING, max(1, new - old - 1 + started_late))
            break
    else:
        missing = min(_MOST_MISSING, later[len(earlier)])
    return _MISSING * missing
