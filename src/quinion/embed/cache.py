"""The vectors of texts that were met lately, so that they are not made again.

Licences, forms and tables' heads stand in many files, a text is ingested again when its file has
changed a little, and people repeat their queries. docs/embedding.md has how much that is.

Texts are known by a digest: they may be long, and nobody's text is kept longer than it is needed.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np

from quinion.embed.base import Vectors

_DIGEST_BYTES = 16


class EmbeddingCache:
    """The vectors of the `capacity` texts that were met last. Thread-safe."""

    def __init__(self, capacity: int, dimensions: int) -> None:
        self._rows: Vectors = np.empty((capacity, dimensions), np.float32)
        self._places: OrderedDict[bytes, int] = OrderedDict()
        self._lock = Lock()

    def recall(self, texts: Sequence[str]) -> dict[str, Vectors]:
        """The vectors of those that are remembered."""
        digests = {text: _digest(text) for text in texts}
        with self._lock:
            found = {}
            for text, digest in digests.items():
                if (place := self._places.get(digest)) is not None:
                    self._places.move_to_end(digest)
                    found[text] = self._rows[place].copy()
            return found

    def keep(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Remember a vector for each text, and forget those that were not met for longest."""
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
