"""Clustered vectors, distributed like those of texts."""

import numpy as np

from quinion.store.base import Vectors

DIMENSIONS = 128


def make_vectors(count: int, seed: int) -> Vectors:
    """Unit vectors in clusters."""
    dice = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(40, DIMENSIONS))
    vectors = centres[dice.integers(0, 40, count)] + 0.7 * dice.normal(size=(count, DIMENSIONS))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32)
