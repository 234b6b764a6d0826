"""Vector index: the vectors and binary codes of all collections, in files of the store.

Each record stores the slot of its vector. Vectors are copy-on-write: a changed vector gets a new
slot, so a transaction that is rolled back or killed leaves no trace, and a reader's snapshot stays
valid. Small sets of vectors are compared exhaustively. For large sets, binary codes select the
candidates.
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
from quinion.store.embedded.bitmap import Mask, Slots
from quinion.store.embedded.database import FILE, REPAIR
from quinion.store.embedded.vectors.binary_quantization import Codes
from quinion.store.embedded.vectors.vector_file import FLOAT, VectorFile

VECTORS, CODES = ".vectors", ".codes"
MAX_EXACT = 20_000
"""Up to this many vectors are compared exhaustively, in a few milliseconds."""
MAX_EXACT_SCATTERED = 8_000
"""The same for vectors that are not contiguous, because of a filter."""
MIN_CODED = 16_384
"""Number of slots from which on codes are written, so that they exist when they are needed."""
MIN_CANDIDATES = 2_000
CANDIDATES_PER_HIT = 40
"""Vectors compared exactly per requested hit, after a selection by codes."""


@dataclass(frozen=True, slots=True)
class Collection:
    """State of a collection in one snapshot."""

    number: int
    dimensions: int
    model: str
    centre: bytes | None
    version: int


class VectorIndex:
    """Vectors of all collections, by their numbers; in memory if `folder` is `None`."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._opening = threading.RLock()
        self._vectors: dict[int, VectorFile] = {}
        self._codes: dict[int, tuple[bytes, Codes]] = {}
        """Codes with their centre: the transaction that set it may have been rolled back."""

    def close(self) -> None:
        """Close the files."""
        for number in {*self._vectors, *self._codes}:
            self._close(number)

    def vectors(self, database: sqlite3.Connection, collection: Collection) -> VectorFile:
        """Open the vectors of a collection.

        Raises:
            StoreUnavailable: the file can't be opened, or was truncated or deleted.
        """
        with self._opening:
            known = self._vectors.get(collection.number)
            # The number may have belonged to a collection whose creation was rolled back.
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
        """Write each vector to its slot; from `MIN_CODED` slots on, also its code."""
        file = self.vectors(database, collection)
        file.write(slots, vectors)
        file.sync()
        with self._opening:
            if codes := self._open_codes(database, collection):
                codes.write(slots, vectors)
                codes.sync()
            elif slots.max() >= MIN_CODED:
                centre = file.read(np.arange(MIN_CODED)).mean(axis=0).astype(FLOAT).tobytes()
                self._delete(collection.number, CODES)  # leftovers of a rolled-back transaction
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
        limit: int,
        mask: Mask,
        exact: int | None = None,
    ) -> tuple[Slots, NDArray[np.float32]]:
        """Find the slots in the mask with the nearest vectors, nearest first, and their distances.

        Returns `limit` of them, or fewer if the mask has fewer. Where binary codes choose the
        candidates, only the first `exact` (default: all) are sought among as many candidates as
        usual.
        """
        count = int(np.count_nonzero(mask))
        if not count:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        vector = vector.ravel()
        codes = self._open_codes(database, collection)
        if codes and count > (MAX_EXACT if count * 2 > len(mask) else MAX_EXACT_SCATTERED):
            sought = max(MIN_CANDIDATES, CANDIDATES_PER_HIT * (exact or limit), limit)
            slots = codes.nearest(vector, mask, sought)
        else:
            slots = np.flatnonzero(mask)
        # Squared distances of unit vectors; rounding errors must not make them negative.
        products = self.vectors(database, collection).dot(slots, vector)
        distances = np.maximum(2.0 - 2.0 * products, 0.0)
        if len(slots) > limit:
            cutoff = np.partition(distances, limit - 1)[limit - 1]
            chosen = np.flatnonzero(distances <= cutoff)
            slots, distances = slots[chosen], distances[chosen]
        order = np.argsort(distances, kind="stable")[:limit]
        return slots[order], distances[order]

    def rebuild(self, database: sqlite3.Connection, collection: Collection) -> None:
        """Reopen the file of vectors and rebuild its codes."""
        with self._opening:
            self._close(collection.number)
            self._delete(collection.number, CODES)
            with suppress(StoreUnavailable):  # a search reports missing vectors
                self._open_codes(database, collection)

    def drop(self, number: int) -> None:
        """Delete the files of a collection; readers that have them open keep them."""
        with self._opening:
            self._close(number)
            self._delete(number, VECTORS, CODES)

    def open_file(self, collection: Collection) -> VectorFile:
        """Open the file of vectors without a check of its length.

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
        """Reject a truncated or deleted file, which would otherwise read as zeros."""
        query = "SELECT max(slot) FROM records WHERE collection = ?"
        [(last,)] = database.execute(query, (number,))
        if last is not None and last >= len(vectors):
            vectors.close()
            raise StoreUnavailable(
                f"{self._path(number, VECTORS)} has {len(vectors)} of {last + 1} vectors: it is "
                f"damaged. {REPAIR}"
            )

    def _open_codes(self, database: sqlite3.Connection, collection: Collection) -> Codes | None:
        """Open the codes of a collection, if it has ever been large enough to need them."""
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


def check_not_lost(folder: Path) -> None:
    """Reject a folder that has vectors but no database: it is damaged, not new.

    Raises:
        StoreUnavailable: the database is missing.
    """
    database = folder / FILE
    is_gone = not database.exists() or not database.stat().st_size
    if is_gone and any(folder.glob(f"*{VECTORS}")):
        raise StoreUnavailable(
            f"{folder} has vectors, but {FILE} is missing: the store is damaged. Restore a backup "
            "with quinion restore, or run quinion rebuild, which restores it from Chroma."
        )
