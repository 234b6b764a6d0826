"""Binary quantization: one bit per dimension, to find candidates for the nearest vectors.

A bit is set if the number is greater than that of the collection's centre. The codes of near
vectors differ in few bits, and a million codes are compared in about ten milliseconds with any
filter. So a few thousand candidates are found, which are then compared exactly.
docs/benchmarks.md shows how rarely a nearest vector is missed.

In memory the codes are stored in planes, the first 64 bits of all vectors, then the next 64,
which makes the comparison fast. In their file they are stored row by row, like vectors.
"""

import threading
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quinion.store.base import Vectors
from quinion.store.embedded.bitmap import Mask, Slots
from quinion.store.embedded.vectors.vector_file import VectorFile

WORD = np.dtype("<u8")
WORD_BITS = 64
BATCH_CODES = 8_192
"""Codes per comparison step: they fit into the processor's cache."""
SPARSE_RATIO = 4
"""If at most one in this many slots is in the mask, their codes are gathered first."""
GROWTH = 1.125
"""Growth factor of the array, so that not every write has to copy it."""
MASKED = np.iinfo(np.uint16).max
"""Difference of slots that are not in the mask: more bits than a code has."""

Words = NDArray[np.uint64]
Differences = NDArray[np.uint16]


class Codes:
    """Binary codes of one collection and its centre; in memory if `path` is `None`."""

    def __init__(self, path: Path | None, centre: Vectors) -> None:
        self._centre = centre
        self._rows = VectorFile(path, -(-len(centre) // WORD_BITS), WORD)
        # Always a copy: the file is mapped read-only.
        self._planes: Words = np.array(self._rows.all().T, order="C")
        self._count = len(self._rows)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """The number of slots with a code."""
        return self._count

    def write(self, slots: Slots, vectors: Vectors) -> None:
        """Write the code of each vector to its slot."""
        codes = encode(vectors, self._centre)
        with self._lock:
            self._rows.write(slots, codes)
            if len(self._rows) > self._planes.shape[1]:
                larger = np.zeros((len(self._planes), int(len(self._rows) * GROWTH)), WORD)
                larger[:, : self._count] = self._planes[:, : self._count]
                self._planes = larger
            self._planes[:, slots] = codes.T
            self._count = len(self._rows)

    def nearest(self, vector: Vectors, mask: Mask, count: int) -> Slots:
        """Find the slots in the mask whose codes differ least from that of the vector.

        Returns at least `count` slots, if the mask has that many, in ascending order.
        """
        [code] = encode(vector.reshape(1, -1), self._centre)
        planes = self._planes
        mask = mask[: min(self._count, planes.shape[1])]
        if np.count_nonzero(mask) * SPARSE_RATIO <= len(mask):
            slots = np.flatnonzero(mask)
            return slots[_find_smallest(_compare(planes[:, slots], code), count)]
        differences = _compare(planes[:, : len(mask)], code)
        differences[~mask] = MASKED
        return _find_smallest(differences, count)

    def sync(self) -> None:
        """Flush all writes to the disk."""
        self._rows.sync()

    def close(self) -> None:
        """Close the file."""
        self._rows.close()


def encode(vectors: Vectors, centre: Vectors) -> Words:
    """Compute the code of each vector, one per row."""
    bits = np.packbits(vectors > centre, axis=1)
    codes = np.zeros((len(vectors), -(-len(centre) // WORD_BITS) * WORD.itemsize), np.uint8)
    codes[:, : bits.shape[1]] = bits
    return codes.view(WORD)


def _compare(planes: Words, code: Words) -> Differences:
    """Count the bits in which each of the codes differs from this one."""
    count = planes.shape[1]
    differences = np.empty(count, np.uint16)
    for start in range(0, count, BATCH_CODES):
        part = planes[:, start : start + BATCH_CODES]
        sums = np.zeros(part.shape[1], np.uint16)
        for plane, word in zip(part, code, strict=True):
            sums += np.bitwise_count(plane ^ word)
        differences[start : start + BATCH_CODES] = sums
    return differences


def _find_smallest(differences: Differences, count: int) -> Slots:
    """Find the smallest differences, including all ties with the last one."""
    unmasked = differences[differences < MASKED]
    cumulative = np.cumsum(np.bincount(unmasked))
    limit = np.searchsorted(cumulative, count) if count < len(unmasked) else MASKED - 1
    return np.flatnonzero(differences <= limit)
