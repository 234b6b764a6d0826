"""What the engine asks of an embedding model, whichever it is."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Texts to unit vectors. Blocking and thread-safe: the caller chooses the thread."""

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        ...

    @property
    def fingerprint(self) -> str:
        """Names the weights and the numerics: vectors of two fingerprints are never mixed."""
        ...

    def load(self) -> None:
        """Load the model now rather than at the first text.

        Raises:
            ModelUnavailable: the model cannot be loaded.
        """
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit row per text, in order, on all the machine's cores.

        Raises:
            ValueError: a text is empty or only white space.
            ModelUnavailable: the model cannot be loaded.
        """
        ...

    def embed_query(self, text: str) -> Vectors:
        """One unit vector, on one core, so that a search never waits for a batch."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens the model sees in each text, before any truncation."""
        ...
