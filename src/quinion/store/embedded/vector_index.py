"""Vector index: the vectors of all collections and their binary codes, in files of the store.

Each record notes the slot of its vector. A committed slot is never overwritten: a changed vector
gets a new slot, so that a transaction that is rolled back or killed leaves nothing behind, and a
reader's snapshot stays valid. Among few vectors the nearest are found by comparing all of them;
among many, binary codes choose those that are worth comparing.
"""

import sqlite3
import threading
from contextlib import suppress
from dataclasses import dataclass
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
EXACT = 20_000
"""Up to so many vectors the nearest are found by comparing all, in a few milliseconds."""
EXACT_SCATTERED = 8_000
"""The same where they lie apart, as those that pass a filter do."""
CODED = 16_384
"""From so many slots on there are codes, so that they exist when they are needed."""
LEAST_COMPARED = 2_000
COMPARED = 40
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
        self._codes: dict[int, Codes] = {}

    def close(self) -> None:
        """Close the files."""
        for vectors in self._vectors.values():
            vectors.close()
        self.forget_codes()

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
            elif slots.max() >= CODED:
                centre = file.take(np.arange(CODED)).mean(axis=0)
                if path := self.path(collection.number, CODES):
                    path.unlink(missing_ok=True)  # of a transaction that was rolled back
                self._make_codes(database, collection, centre)
                database.execute(
                    "UPDATE collections SET centre = ? WHERE number = ?",
                    (centre.astype(FLOAT).tobytes(), collection.number),
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
        if codes and count > (EXACT if count * 2 > len(mask) else EXACT_SCATTERED):
            slots = codes.near(vector, mask, max(LEAST_COMPARED, COMPARED * most))
        else:
            slots = np.flatnonzero(mask)
        # Squared distances of unit vectors; rounding must not make one nearer than itself.
        products = self.vectors(database, collection).dot(slots, vector)
        distances = np.maximum(2.0 - 2.0 * products, 0.0)
        if len(slots) > most:
            reached = np.partition(distances, most - 1)[most - 1]
            chosen = np.flatnonzero(distances <= reached)
            slots, distances = slots[chosen], distances[chosen]
        order = np.argsort(distances, kind="stable")[:most]
        return slots[order], distances[order]

    def rebuild(self, database: sqlite3.Connection, collection: Collection) -> None:
        """Open the file of vectors again, and write its codes again."""
        with self._opening:
            if self._folder and (vectors := self._vectors.pop(collection.number, None)):
                vectors.close()
            self._drop_codes(collection.number)
            with suppress(StoreUnavailable):  # where vectors are missing, a search reports it
                self._open_codes(database, collection)

    def drop(self, number: int) -> None:
        """Delete the files of a collection; readers that have them open keep them."""
        with self._opening:
            if vectors := self._vectors.pop(number, None):
                vectors.close()
            if path := self.path(number, VECTORS):
                path.unlink(missing_ok=True)
            self._drop_codes(number)

    def forget_codes(self) -> None:
        """Read codes again when they are needed: their centre may have been rolled back."""
        with self._opening:
            while self._codes:
                self._codes.popitem()[1].close()

    def path(self, number: int, suffix: str) -> Path | None:
        """The file of a collection; None in memory."""
        return self._folder / f"{number}{suffix}" if self._folder else None

    def open_file(self, collection: Collection) -> VectorFile:
        """The file of vectors, whatever its length.

        Raises:
            StoreUnavailable: it can't be opened.
        """
        path = self.path(collection.number, VECTORS)
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
                f"{self.path(number, VECTORS)} has {len(vectors)} of {last + 1} vectors: it is "
                f"damaged. {REPAIR}"
            )

    def _open_codes(self, database: sqlite3.Connection, collection: Collection) -> Codes | None:
        """The codes of a collection, if it has been large enough to need them."""
        if collection.centre is None:
            return None
        with self._opening:
            if collection.number not in self._codes:
                self._make_codes(database, collection, np.frombuffer(collection.centre, FLOAT))
            return self._codes[collection.number]

    def _make_codes(
        self, database: sqlite3.Connection, collection: Collection, centre: Vectors
    ) -> None:
        codes = Codes(self.path(collection.number, CODES), centre)
        vectors = self.vectors(database, collection)
        for start in range(len(codes), len(vectors), CODED):
            slots = np.arange(start, min(start + CODED, len(vectors)))
            codes.write(slots, vectors.take(slots))
        codes.sync()
        self._codes[collection.number] = codes

    def _drop_codes(self, number: int) -> None:
        if codes := self._codes.pop(number, None):
            codes.close()
        if path := self.path(number, CODES):
            path.unlink(missing_ok=True)
