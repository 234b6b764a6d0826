"""Similarity of two sections, and the pairs that are worth a closer look.

Two measures from 0 to 1. The order of words counts in the first (longest common subsequence), rare
words count more in the second. Their mean tells a reworded section from an unrelated one better
than either.

Weights are integers, so that sums do not depend on their order and a comparison is the same in both
directions.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq

# A word in more than this share of sections says nothing about what a section is about.
_COMMON_SHARE = 0.4
_COMMON_AT_LEAST = 20
_FEWEST_SHARED = 0.2
_MOST_CANDIDATES = 8
# Below this share of its words, a section is no part of another one, in whatever order they are.
_LEAST_SHARED = 0.5
# Rows times columns that are compared at once: 8 MB of integers.
_CELLS = 1_000_000

# Words are encoded as characters, because rapidfuzz compares strings fastest. Surrogates are left
# out.
_FIRST_CHARACTER, _SURROGATES, _AFTER_SURROGATES = 0x100, 0xD800, 0xE000


@dataclass(frozen=True, slots=True)
class Encoded:
    """Words of a section: one character each, the different ones, and their weight."""

    code: str
    characters: frozenset[str]
    weight: int

    def __len__(self) -> int:
        return len(self.code)


class Vocabulary:
    """Words of both revisions, their characters and their weights."""

    def __init__(self, sections: Sequence[Sequence[str]]) -> None:
        frequency = Counter(word for words in sections for word in set(words))
        limit = max(_COMMON_AT_LEAST, _COMMON_SHARE * len(sections))
        self._characters = {word: _character(place) for place, word in enumerate(frequency)}
        self.weights = {
            character: _weight(frequency[word], len(sections), limit)
            for word, character in self._characters.items()
        }

    def encode(self, words: Sequence[str]) -> Encoded:
        """Encode the words of a section."""
        code = "".join([self._characters[word] for word in words])
        characters = frozenset(code)
        return Encoded(code, characters, sum(self.weights[one] for one in characters))

    def shared_weight(self, one: Encoded, other: Encoded) -> int:
        """Return the weight of the words that both have."""
        return sum(self.weights[character] for character in one.characters & other.characters)

    def similarity(self, one: Encoded, other: Encoded) -> float:
        """Return the similarity of two sections, 0 to 1."""
        if one.code == other.code:
            return 1.0
        ordered = 2 * count_common(one.code, other.code) / (len(one) + len(other))
        weight = one.weight + other.weight
        return (ordered + 2 * self.shared_weight(one, other) / weight) / 2 if weight else ordered

    def shared_share(self, part: Encoded, whole: Encoded) -> float:
        """Return the share of a section's words, by weight, that another one has, 0 to 1."""
        return self.shared_weight(part, whole) / part.weight if part.weight else 1.0

    def containment(self, part: Encoded, whole: Encoded) -> float:
        """Return the share of a section's words that are in another one, 0 to 1."""
        shared = self.shared_share(part, whole)
        if shared < _LEAST_SHARED:
            return shared
        return min(shared, count_common(part.code, whole.code) / max(1, len(part)))


def count_common(one: str, other: str) -> int:
    """Count the words that both have in the same order."""
    return LCSseq.similarity(one, other)


def find_candidates(
    before: Sequence[Encoded], after: Sequence[Encoded], weights: dict[str, int]
) -> set[tuple[int, int]]:
    """Find the pairs of sections that share the most, by the weight of their words.

    For each section of either side these are up to eight.
    """
    if not before or not after:
        return set()
    columns = _postings(after, weights)
    right = np.array([max(1, one.weight) for one in after])
    found: set[tuple[int, int]] = set()
    best_of_columns: list[list[tuple[float, int]]] = [[] for _ in after]
    rows = max(1, _CELLS // len(after))
    for start in range(0, len(before), rows):
        block = before[start : start + rows]
        shared = _shared(block, columns, len(after), weights)
        left = np.array([max(1, one.weight) for one in block])
        share = shared / np.minimum(left[:, None], right[None, :])
        for row, column in _best(share):
            found.add((start + row, column))
        for column, row in _best(share.T):
            best_of_columns[column].append((-float(share[row, column]), start + row))
    for column, best in enumerate(best_of_columns):
        found.update((row, column) for _, row in sorted(best)[:_MOST_CANDIDATES])
    return found


def _postings(sections: Iterable[Encoded], weights: dict[str, int]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for place, one in enumerate(sections):
        for character in one.characters:
            if weights[character]:
                found[character].append(place)
    return found


def _shared(
    rows: Sequence[Encoded], columns: dict[str, list[int]], width: int, weights: dict[str, int]
) -> NDArray[np.int64]:
    """Return the weight of the words that each pair of sections shares."""
    shared = np.zeros((len(rows), width), dtype=np.int64)
    for character, places in _postings(rows, weights).items():
        if character in columns:
            shared[np.ix_(places, columns[character])] += weights[character]
    return shared


def _best(share: NDArray[np.float64]) -> Iterable[tuple[int, int]]:
    """Yield the best columns of each row."""
    count = min(_MOST_CANDIDATES, share.shape[1])
    places = np.argpartition(-share, count - 1, axis=1)[:, :count]
    for row, columns in enumerate(places):
        for column in columns:
            if share[row, column] >= _FEWEST_SHARED:
                yield row, int(column)


def _weight(frequency: int, sections: int, limit: float) -> int:
    return 0 if frequency > limit else 1 + int(8 * math.log2(1 + sections / frequency))


def _character(place: int) -> str:
    number = place + _FIRST_CHARACTER
    if number >= _SURROGATES:
        number += _AFTER_SURROGATES - _SURROGATES
    return chr(number)
