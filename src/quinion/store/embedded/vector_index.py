"""Vector index: the vectors of all collections and their binary codes, in files of the store.

Each record notes the slot of its vector. A committed slot is never overwritten: a changed vector
gets a new slot, so that a transaction that is rolled back or killed leaves nothing behind, and a
reader's snapshot stays valid. Among few vectors the nearest are found by comparing all of them;
among many, binary codes choose those that are worth comparing.
"""

import sqlite3
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quinion.errors import StoreUnavailable
from quinion.store.base import Vectors
from quinion.store.embedded.binary_quantization import Codes
from quinion.store.embedded.bitmap import Mask, Slots
from quinion.store.embedded.database import REPAIR
from quinion.store.embedded.vector_file import FLOAT, VectorFile

VECTORS, CODES = ".vectors", ".codes"
MAX_EXACT = 20_000
"""Up to so many vectors the nearest are found by comparing all, in a few milliseconds."""
MAX_EXACT_SCATTERED = 8_000
"""The same where they lie apart, as those that pass a filter do."""
MIN_CODED = 16_384
"""From so many slots on there are codes, so that they exist when they are needed."""
MIN_CANDIDATES = 2_000
CANDIDATES_PER_HIT = 40
"""Vectors that are compared for each one that is wanted, where codes have chosen them."""


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection as one snapshot has it."""

    number: int
    dimensions: int
    model: str
    centre: bytes | None
    version: int


class VectorIndex:
    """One for each collection, by its number; `folder` None: in memory."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._opening = threading.RLock()
        self._vectors: dict[int, VectorFile] = {}
        self._codes: dict[int, tuple[bytes, Codes]] = {}
        """With their centre, because the transaction that set it may have been rolled back."""

    def close(self) -> None:
        """Close the files."""
        for number in {*self._vectors, *self._codes}:
            self._close(number)

    def vectors(self, database: sqlite3.Connection, collection: Collection) -> VectorFile:
        """The vectors of a collection.

        Raises:
            StoreUnavailable: their file can't be opened, or was truncated or deleted.
        """
        with self._opening:
            known = self._vectors.get(collection.number)
            # The number may have been that of a collection whose creation was rolled back.
            if known is None or known.dimensions != collection.dimensions:
                vectors = self.open_file(collection)
                self._check_length(database, collection.number, vectors)
                if known:
                    known.close()
                self._vectors[collection.number] = vectors
            return self._vectors[collection.number]

    def write(
        self, database: sqlite3.Connection, collection: Collection, slots: Slots, vectors: Vectors
    ) -> None:
        """Write each vector to its slot, and its code once there are so many that codes pay."""
        file = self.vectors(database, collection)
        file.write(slots, vectors)
        file.sync()
        with self._opening:
            if codes := self._open_codes(database, collection):
                codes.write(slots, vectors)
                codes.sync()
            elif slots.max() >= MIN_CODED:
                centre = file.read(np.arange(MIN_CODED)).mean(axis=0).astype(FLOAT).tobytes()
                self._delete(collection.number, CODES)  # of a transaction that was rolled back
                self._open_codes(database, replace(collection, centre=centre))
                database.execute(
                    "UPDATE collections SET centre = ? WHERE number = ?",
                    (centre, collection.number),
                )

    def nearest(
        self,
        database: sqlite3.Connection,
        collection: Collection,
        vector: Vectors,
        most: int,
        mask: Mask,
    ) -> tuple[Slots, NDArray[np.float32]]:
        """The masked slots whose vectors are nearest, nearest first, and their distances: `most`
        of them, or as many as there are."""
        count = int(np.count_nonzero(mask))
        if not count:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        vector = vector.ravel()
        codes = self._open_codes(database, collection)
        if codes and count > (MAX_EXACT if count * 2 > len(mask) else MAX_EXACT_SCATTERED):
            slots = codes.nearest(vector, mask, max(MIN_CANDIDATES, CANDIDATES_PER_HIT * most))
        else:
            slots = np.flatnonzero(mask)
        # Squared distances of unit vectors; rounding must not make one nearer than itself.
        products = self.vectors(database, collection).dot(slots, vector)
        distances = np.maximum(2.0 - 2.0 * products, 0.0)
        if len(slots) > most:
            limit = np.partition(distances, most - 1)[most - 1]
            chosen = np.flatnonzero(distances <= limit)
            slots, distances = slots[chosen], distances[chosen]
        order = np.argsort(distances, kind="stable")[:most]
        return slots[order], distances[order]

    def rebuild(self, database: sqlite3.Connection, collection: Collection) -> None:
        """Open the file of vectors again, and write its codes again."""
        with self._opening:
            self._close(collection.number)
            self._delete(collection.number, CODES)
            with suppress(StoreUnavailable):  # where vectors are missing, a search reports it
                self._open_codes(database, collection)

    def drop(self, number: int) -> None:
        """Delete the files of a collection; readers that have them open keep them."""
        with self._opening:
            self._close(number)
            self._delete(number, VECTORS, CODES)

    def open_file(self, collection: Collection) -> VectorFile:
        """The file of vectors, whatever its length.

        Raises:
            StoreUnavailable: it can't be opened.
        """
        path = self._path(collection.number, VECTORS)
        try:
            return VectorFile(path, collection.dimensions)
        except OSError as error:
            raise StoreUnavailable(
                f"{path} cannot be opened: {error.strerror}. "
                "Check that the disk is not full and that the folder is writable."
            ) from error

    def _check_length(self, database: sqlite3.Connection, number: int, vectors: VectorFile) -> None:
        """A file that was truncated or deleted must not pass for one of zeros."""
        query = "SELECT max(slot) FROM records WHERE collection = ?"
        [(last,)] = database.execute(query, (number,))
        if last is not None and last >= len(vectors):
            vectors.close()
            raise StoreUnavailable(
                f"{self._path(number, VECTORS)} has {len(vectors)} of {last + 1} vectors: it is "
                f"damaged. {REPAIR}"
            )

    def _open_codes(self, database: sqlite3.Connection, collection: Collection) -> Codes | None:
        """The codes of a collection, if it has been large enough to need them."""
        if collection.centre is None:
            return None
        number, centre = collection.number, collection.centre
        with self._opening:
            known = self._codes.get(number)
            if known is None or known[0] != centre:
                if known:
                    known[1].close()
                codes = Codes(self._path(number, CODES), np.frombuffer(centre, FLOAT))
                vectors = self.vectors(database, collection)
                for start in range(len(codes), len(vectors), MIN_CODED):
                    slots = np.arange(start, min(start + MIN_CODED, len(vectors)))
                    codes.write(slots, vectors.read(slots))
                codes.sync()
                known = self._codes[number] = centre, codes
            return known[1]

    def _close(self, number: int) -> None:
        if vectors := self._vectors.pop(number, None):
            vectors.close()
        if codes := self._codes.pop(number, None):
            codes[1].close()

    def _delete(self, number: int, *suffixes: str) -> None:
        for suffix in suffixes:
            if path := self._path(number, suffix):
                path.unlink(missing_ok=True)

    def _path(self, number: int, suffix: str) -> Path | None:
        return self._folder / f"{number}{suffix}" if self._folder else None
