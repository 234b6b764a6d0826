"""Interface of the embedding models."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Embedding model with unit vectors. Blocking and thread-safe; the caller picks the thread."""

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        ...

    @property
    def fingerprint(self) -> str:
        """Identifies weights and numerics: vectors of two fingerprints are never mixed."""
        ...

    def load(self) -> None:
        """Load the model now instead of with the first text.

        Raises:
            ModelUnavailable: the model cannot be loaded.
        """
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text, in order. Uses all cores.

        Raises:
            ValueError: a text is empty or only white space.
            ModelUnavailable: the model cannot be loaded.
        """
        ...

    def embed_query(self, text: str) -> Vectors:
        """Return one unit vector. Uses one core, so a search never waits for a batch."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text before truncation."""
        ...
