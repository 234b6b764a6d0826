"""Embedder that truncates texts, as two of the contracts prescribe."""

import logging
from collections.abc import Sequence

from quinion.embed.base import Embedder, Vectors

MAX_CHARACTERS = 1024

_log = logging.getLogger(__name__)


class Truncated:
    """Wrapper that passes at most `MAX_CHARACTERS` of each text to another `Embedder`."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._embedder.dimensions

    @property
    def fingerprint(self) -> str:
        """The wrapped embedder's fingerprint: the vectors are comparable."""
        return self._embedder.fingerprint

    def load(self) -> None:
        """Load the model now instead of with the first text."""
        self._embedder.load()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text, in order."""
        return self._embedder.embed(_truncate(texts))

    def embed_query(self, text: str) -> Vectors:
        """Return one unit vector."""
        return self._embedder.embed_query(*_truncate([text]))

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text before truncation."""
        return self._embedder.count_tokens(texts)


def _truncate(texts: Sequence[str]) -> list[str]:
    too_long = sum(len(text) > MAX_CHARACTERS for text in texts)
    if too_long:
        _log.warning(
            "Truncated to %d characters before embedding: %d of %d texts",
            MAX_CHARACTERS,
            too_long,
            len(texts),
        )
    return [text[:MAX_CHARACTERS] for text in texts]
