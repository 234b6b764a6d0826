"""Flat file of vectors or binary codes, row by row, memory-mapped for reading.

The store assigns the slot of each row. Writes are on the disk after `sync`. A row whose slot no
record refers to is free to be overwritten.
"""

import mmap
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quinion.store.base import Vectors
from quinion.store.embedded.bitmap import Slots

FLOAT = np.dtype("<f4")


class VectorFile:
    """Rows of one collection; in memory if `path` is `None`."""

    def __init__(self, path: Path | None, dimensions: int, kind: np.dtype[Any] = FLOAT) -> None:
        self.dimensions = dimensions
        self._kind = kind
        self._width = dimensions * kind.itemsize
        self._lock = threading.Lock()
        self._memory = np.empty((0, dimensions), kind)
        self._descriptor = -1
        if path:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._map()

    def __len__(self) -> int:
        """The number of slots, including unused ones at the end."""
        return len(self._memory)

    def all(self) -> NDArray[Any]:
        """All rows, by slot."""
        return self._memory

    def write(self, slots: Slots, vectors: NDArray[Any]) -> None:
        """Write each row to its slot."""
        with self._lock:
            end = int(slots.max()) + 1
            if end > len(self._memory):
                self._grow(end)
            if self._descriptor < 0:
                self._memory[slots] = vectors
                return
            breaks = np.flatnonzero(np.diff(slots) != 1) + 1
            data = np.ascontiguousarray(vectors, self._kind)
            for first, part in zip([0, *breaks], np.split(data, breaks), strict=True):
                _write_all(self._descriptor, part.tobytes(), int(slots[first]) * self._width)

    def read(self, slots: Slots) -> Vectors:
        """Read the vectors at these slots."""
        rows: Vectors = self._memory[slots]
        return rows

    def dot(self, slots: Slots, vector: Vectors) -> Vectors:
        """Dot product of the vector with each of these rows, whose slots are ascending."""
        end = int(slots[-1]) + 1
        # Not with `@`: the threads of BLAS would spin on all cores.
        products: Vectors
        if len(slots) * 2 > end:
            # For most of the rows, a copy would be slower.
            products = np.vecdot(self._memory[:end], vector)[slots]
        else:
            products = np.vecdot(self.read(slots), vector)
        return products

    def sync(self) -> None:
        """Flush all writes to the disk."""
        if self._descriptor >= 0:
            os.fsync(self._descriptor)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _grow(self, rows: int) -> None:
        """Grow the file by at least an eighth, so that not every write maps it again."""
        rows = max(rows, len(self._memory) + len(self._memory) // 8, 256)
        if self._descriptor >= 0:
            os.ftruncate(self._descriptor, rows * self._width)
            self._map()
        else:
            larger = np.zeros((rows, self.dimensions), self._kind)
            larger[: len(self._memory)] = self._memory
            self._memory = larger

    def _map(self) -> None:
        rows = os.fstat(self._descriptor).st_size // self._width
        if rows:
            mapped = mmap.mmap(self._descriptor, rows * self._width, prot=mmap.PROT_READ)
            self._memory = np.frombuffer(mapped, self._kind).reshape(rows, self.dimensions)


def _write_all(descriptor: int, data: bytes, start: int) -> None:
    while data:
        written = os.pwrite(descriptor, data, start)
        data, start = data[written:], start + written
