"""Chains of section numbers: which numbers at line starts belong to sections.

Many lines start with a number: paragraphs, but also list items, table cells, years, and sentences
that break before a figure. Section numbers form the longest chain in which each number follows the
previous one: 116 after 115, 5.13 or 6.1 after 5.12.
"""

from collections.abc import Sequence

Number = tuple[int, ...]

# Penalty of a gap per missing number, and the maximum of missing numbers counted. An unreadable
# paragraph number costs little; a stray number far ahead needs several successors to be accepted.
_MISSING = 0.4
_MOST_MISSING = 5
# Candidates for the previous number are at most this far back.
_WINDOW = 300


def best_chain(
    numbers: Sequence[Number], weights: Sequence[float] | None = None, *, strict: bool = True
) -> list[int]:
    """Return the positions of the numbers that form the best ascending chain.

    Without `strict`, gaps cost nothing.
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
    """Check that no number is missing in between: after 5.12 comes 5.13, 5.12.1, 6 or 6.1."""
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
