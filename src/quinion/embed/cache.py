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
        self._row_by_digest: OrderedDict[bytes, int] = OrderedDict()
        self._lock = Lock()

    def get(self, texts: Sequence[str]) -> dict[str, Vectors]:
        """Return the cached vectors, by text."""
        digests = {text: _digest(text) for text in texts}
        with self._lock:
            found = {}
            for text, digest in digests.items():
                if (row := self._row_by_digest.get(digest)) is not None:
                    self._row_by_digest.move_to_end(digest)
                    found[text] = self._rows[row].copy()
            return found

    def put(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Add a vector for each text and evict the least recently used ones."""
        digests = [_digest(text) for text in texts]
        with self._lock:
            for digest, vector in zip(digests, vectors, strict=True):
                row = self._row_by_digest.pop(digest, None)
                if row is None:
                    row = self._free_row()
                self._row_by_digest[digest] = row
                self._rows[row] = vector

    def _free_row(self) -> int:
        if len(self._row_by_digest) < len(self._rows):
            return len(self._row_by_digest)
        return self._row_by_digest.popitem(last=False)[1]


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).digest()
