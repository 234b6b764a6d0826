"""One bit for each number of each vector: which of very many vectors may be the nearest.

A bit says on which side of the collection's centre the number lies. Where two vectors are near
each other few of their bits differ, and a million codes are compared in some ten milliseconds,
whatever filter lies on them. So a few thousand slots are found that have the nearest vectors
among them, and the vectors themselves decide. docs/benchmarks.md says how seldom one is missed.

In memory the codes lie in planes, the first 64 bits of all vectors together, then the next,
which is what makes comparing quick. In their file they lie row after row, as vectors do.
"""

import threading
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quinion.store.base import Vectors
from quinion.store.embedded.bitmap import Mask, Slots
from quinion.store.embedded.vector_file import VectorFile

WORD = np.dtype("<u8")
WORD_BITS = 64
BATCH_CODES = 8_192
"""Codes that are compared in one go: what a processor keeps close at hand."""
SPARSE_RATIO = 4
"""Where one in so many slots is unmasked or fewer, their codes are gathered first."""
GROWTH = 1.125
"""How much more room is made than is needed, so that it is not made with every write."""
MASKED = np.iinfo(np.uint16).max
"""More bits than there are in a code."""

Words = NDArray[np.uint64]
Differences = NDArray[np.uint16]


class Codes:
    """The codes of one collection, made with its centre; `path` None: in memory alone."""

    def __init__(self, path: Path | None, centre: Vectors) -> None:
        self._centre = centre
        self._rows = VectorFile(path, -(-len(centre) // WORD_BITS), WORD)
        # A copy in any case: the file is mapped to be read only.
        self._planes: Words = np.array(self._rows.all().T, order="C")
        self._count = len(self._rows)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many slots have a code."""
        return self._count

    def write(self, slots: Slots, vectors: Vectors) -> None:
        """Put the code of each vector at its place."""
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
        """At least `count` of the masked slots, if there are so many, in ascending order: those
        whose codes differ least from that of the vector."""
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
        """Have all that was written on the disk."""
        self._rows.sync()

    def close(self) -> None:
        """Let go of the file."""
        self._rows.close()


def encode(vectors: Vectors, centre: Vectors) -> Words:
    """The code of each vector, a row for each."""
    bits = np.packbits(vectors > centre, axis=1)
    codes = np.zeros((len(vectors), -(-len(centre) // WORD_BITS) * WORD.itemsize), np.uint8)
    codes[:, : bits.shape[1]] = bits
    return codes.view(WORD)


def _compare(planes: Words, code: Words) -> Differences:
    """By how many bits each of the codes differs from this one."""
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
    """Where the smallest are, with all that are as small as the last of them."""
    unmasked = differences[differences < MASKED]
    cumulative = np.cumsum(np.bincount(unmasked))
    limit = np.searchsorted(cumulative, count) if count < len(unmasked) else MASKED - 1
    return np.flatnonzero(differences <= limit)
