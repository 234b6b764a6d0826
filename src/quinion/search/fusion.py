"""Fusion of a search by meaning with one by words: a weighted sum of normalised scores.

Cosines are normalised by what a random chunk of the collection has (the product of the query with
the mean vector) and by the best one, BM25 scores by the best one. docs/search.md compares the sum
with other methods on judged queries.
"""

import numpy as np

from quinion.store.base import Candidates, Vectors

DEPTH = 100
"""Candidates by meaning, and as many by words."""
WEIGHT = 0.5
"""Weight of the meaning."""
WEIGHT_SHORT = 0.25
"""The same for short queries, which are often names, numbers and references."""
MAX_SHORT = 3
"""Content words of a short query."""


def choose_weight(content_words: int) -> float:
    """The weight of the meaning for a query with that many words besides stop words."""
    return WEIGHT_SHORT if content_words <= MAX_SHORT else WEIGHT


def fuse(candidates: Candidates, weight: float) -> Vectors:
    """Compute the fused score of each candidate: 1 for the best by meaning and by words."""
    meaning = _divide_by_best(candidates.cosines - np.float32(candidates.mean_cosine))
    return np.float32(weight) * meaning + np.float32(1 - weight) * _divide_by_best(candidates.words)


def _divide_by_best(values: Vectors) -> Vectors:
    """Divide by the best value; nothing is distinguished if that is not positive."""
    best = values.max()
    return values / best if best > 0 else np.zeros_like(values)
