"""LRU cache of embeddings, so that recent texts are not embedded again.

Licences, forms and table headers occur in many files, a changed file is ingested again with mostly
the same chunks, and users repeat queries. docs/embedding.md has hit rates.

The keys are digests: texts may be long, and user text is not kept longer than needed.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np

from quinion.embed.base import Vectors

_DIGEST_BYTES = 16


class EmbeddingCache:
    """LRU cache of the vectors of `capacity` texts. Thread-safe."""

    def __init__(self, capacity: int, dimensions: int) -> None:
        self._rows: Vectors = np.empty((capacity, dimensions), np.float32)
        self._places: OrderedDict[bytes, int] = OrderedDict()
        self._lock = Lock()

    def recall(self, texts: Sequence[str]) -> dict[str, Vectors]:
        """Return the cached vectors, by text."""
        digests = {text: _digest(text) for text in texts}
        with self._lock:
            found = {}
            for text, digest in digests.items():
                if (place := self._places.get(digest)) is not None:
                    self._places.move_to_end(digest)
                    found[text] = self._rows[place].copy()
            return found

    def keep(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Add a vector for each text and evict the least recently used ones."""
        digests = [_digest(text) for text in texts]
        with self._lock:
            for digest, vector in zip(digests, vectors, strict=True):
                place = self._places.pop(digest, None)
                if place is None:
                    place = self._free_row()
                self._places[digest] = place
                self._rows[place] = vector

    def _free_row(self) -> int:
        if len(self._places) < len(self._rows):
            return len(self._places)
        return self._places.popitem(last=False)[1]


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).digest()
