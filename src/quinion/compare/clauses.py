"""Clauses that two sections share, although the rest of their words differs.

A list whose items went to several policies has little in common with each of them, but a sentence
or an item of it is in each, nearly word by word.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from quinion.compare.passages import Passage, may_match
from quinion.compare.similarity import Encoded, Vocabulary, find_candidates

# The least share of one of both sections, by weight, that a shared clause has to be.
_LEAST_SHARE = 0.05

Sides = tuple[Sequence[Passage], Sequence[Passage]]
Places = tuple[Iterable[int], Iterable[int]]


@dataclass(frozen=True, slots=True)
class SharedClause:
    """A clause of sections at two places, and how alike it is on both sides."""

    similarity: float
    before: int
    after: int
    clause_before: Encoded
    clause_after: Encoded


def find_shared_clauses(
    sides: Sides, free: Places, vocabulary: Vocabulary, least: float
) -> list[SharedClause]:
    """Find clauses of a free section and of any other one, most alike first."""
    before, after = sides
    left, right = free
    found = {
        *_find(sides, (left, range(len(after))), vocabulary, least),
        *_find(sides, (range(len(before)), right), vocabulary, least),
    }
    return sorted(found, key=lambda one: (-one.similarity, one.before, one.after))


def has_rival(
    shared: SharedClause, sides: Sides, known: Places, vocabulary: Vocabulary, margin: float
) -> bool:
    """Check whether known counterparts have the clause as well, or nearly so."""
    before, after = sides
    known_before, known_after = known
    pairs = (
        *((shared.clause_after, one) for i in known_before for one in before[i].clauses),
        *((shared.clause_before, one) for j in known_after for one in after[j].clauses),
    )
    return any(vocabulary.similarity(*pair) > shared.similarity - margin for pair in pairs)


def _find(
    sides: Sides, places: Places, vocabulary: Vocabulary, least: float
) -> Iterator[SharedClause]:
    left, right = (
        [(place, clause) for place in chosen for clause in side[place].clauses]
        for side, chosen in zip(sides, places, strict=True)
    )
    candidates = find_candidates(
        [clause for _, clause in left], [clause for _, clause in right], vocabulary.weights
    )
    before, after = sides
    for row, column in candidates:
        (i, one), (j, other) = left[row], right[column]
        alike = vocabulary.similarity(one, other)
        if alike >= least and _counts(before[i], one, after[j], other):
            yield SharedClause(alike, i, j, one, other)


def _counts(before: Passage, one: Encoded, after: Passage, other: Encoded) -> bool:
    """Check that a clause is enough of one of its sections; a title is no clause."""
    if before.title or after.title or not may_match(before, after):
        return False
    shares = (one.weight / max(1, before.text.weight), other.weight / max(1, after.text.weight))
    return max(shares) >= _LEAST_SHARE
