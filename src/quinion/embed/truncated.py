"""An embedder that sees the first characters of a text only, as two of the contracts prescribe."""

import logging
from collections.abc import Sequence

from quinion.embed.base import Embedder, Vectors

MAX_CHARACTERS = 1024

_log = logging.getLogger(__name__)


class Truncated:
    """An `Embedder`: another one, given no more than `MAX_CHARACTERS` of each text."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._embedder.dimensions

    @property
    def fingerprint(self) -> str:
        """That of the other embedder: the vectors can be compared."""
        return self._embedder.fingerprint

    def load(self) -> None:
        """Load the model now rather than at the first text."""
        self._embedder.load()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit row per text, in order."""
        return self._embedder.embed(_truncate(texts))

    def embed_query(self, text: str) -> Vectors:
        """One unit vector."""
        return self._embedder.embed_query(*_truncate([text]))

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, before any truncation."""
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
