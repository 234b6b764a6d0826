"""The vectors of all collections and their codes, in files beside the ledger's database.

Each vector is at the place that its record notes. Among few the nearest are found by looking at
each; among many, codes choose those that are worth looking at. Calls that write are made within
the ledger's transaction.
"""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quinion.errors import StoreUnavailable
from quinion.store.codes import Codes
from quinion.store.places import Mask, Places
from quinion.store.rows import FLOAT, Rows, Vectors

MENDING = "Run quinion verify --repair and, if that does not mend it, quinion rebuild."
ROWS, CODES = ".rows", ".codes"
EXACT = 20_000
"""Among so many vectors the nearest are found by looking at each, in a few milliseconds."""
FEW = 8_000
"""As many as that where they lie apart, as those that pass a filter do."""
CODED = 16_384
"""From so many places on there are codes, so that they are there when they are needed."""
LEAST_LOOKED_AT = 2_000
LOOKED_AT = 40
"""How many vectors are looked at for each that is wanted, where codes have chosen them."""


class Shelves:
    """One for each collection, by its number; `folder` None: in memory alone."""

    def __init__(
        self,
        folder: Path | None,
        writer: sqlite3.Connection,
        read: Callable[[str, Sequence[Any]], list[Any]],
    ) -> None:
        self._folder = folder
        self._writer = writer
        self._read = read
        self._opening = threading.RLock()
        self._rows: dict[int, Rows] = {}
        self._codes: dict[int, Codes] = {}

    def close(self) -> None:
        """Let go of the files."""
        for rows in self._rows.values():
            rows.close()
        self.forget_codes()

    def rows(self, number: int, dimensions: int = 0, *, checked: bool = True) -> Rows:
        """The vectors of a collection; `dimensions` where it is about to be made.

        Raises:
            StoreUnavailable: their file can't be opened, or was cut off or deleted, unless it is
                not to be `checked`.
        """
        with self._opening:
            if number not in self._rows:
                if not dimensions:
                    query = "SELECT dimensions FROM collections WHERE number = ?"
                    [(dimensions,)] = self._read(query, (number,))
                rows = self._open_rows(number, dimensions)
                if checked:
                    self._check_length(number, rows)
                self._rows[number] = rows
            return self._rows[number]

    def write(self, number: int, places: Places, vectors: Vectors) -> None:
        """Put each vector at its place, and its code, once there are so many that codes are
        needed."""
        rows = self.rows(number, vectors.shape[1])
        rows.write(places, vectors)
        rows.sync()
        with self._opening:
            if codes := self._open_codes(number):
                codes.write(places, vectors)
                codes.sync()
            elif places.max() >= CODED:
                centre = rows.take(np.arange(CODED)).mean(axis=0)
                if path := self._path(number, CODES):
                    path.unlink(missing_ok=True)  # of a transaction that was not completed
                self._make_codes(number, centre)
                self._writer.execute(
                    "UPDATE collections SET centre = ? WHERE number = ?",
                    (centre.astype(FLOAT).tobytes(), number),
                )

    def nearest(
        self, number: int, vector: Vectors, most: int, mask: Mask
    ) -> tuple[Places, NDArray[np.float32]]:
        """The places, of those on the mask, whose vectors are nearest, nearest first, and their
        distances. So many are given as there are, or `most`."""
        count = int(np.count_nonzero(mask))
        if not count:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        vector = vector.ravel()
        codes = self._open_codes(number)
        if codes and count > (EXACT if count * 2 > len(mask) else FEW):
            places = codes.near(vector, mask, max(LEAST_LOOKED_AT, LOOKED_AT * most))
        else:
            places = np.flatnonzero(mask)
        # Of unit vectors; what is rounded must not be nearer than the same.
        distances = np.maximum(2.0 - 2.0 * self.rows(number).dot(places, vector), 0.0)
        if len(places) > most:
            reached = np.partition(distances, most - 1)[most - 1]
            chosen = np.flatnonzero(distances <= reached)
            places, distances = places[chosen], distances[chosen]
        order = np.argsort(distances, kind="stable")[:most]
        return places[order], distances[order]

    def renew(self, number: int) -> None:
        """Look at the file of vectors again, and make its codes anew."""
        with self._opening:
            if self._folder and (rows := self._rows.pop(number, None)):
                rows.close()
            self._drop_codes(number)
            with suppress(StoreUnavailable):  # where vectors are missing, whoever searches is told
                self._open_codes(number)

    def drop(self, number: int) -> None:
        """Delete the files of a collection."""
        with self._opening:
            if rows := self._rows.pop(number, None):
                rows.close()
            if path := self._path(number, ROWS):
                path.unlink(missing_ok=True)
            self._drop_codes(number)

    def forget_codes(self) -> None:
        """Read them anew when they are needed: a centre may not have been noted."""
        with self._opening:
            while self._codes:
                self._codes.popitem()[1].close()

    def _open_rows(self, number: int, dimensions: int) -> Rows:
        path = self._path(number, ROWS)
        try:
            return Rows(path, dimensions)
        except OSError as error:
            raise StoreUnavailable(
                f"{path} cannot be opened: {error.strerror}. "
                "Check that the disk is not full and that the folder is writable."
            ) from error

    def _check_length(self, number: int, rows: Rows) -> None:
        """A file of vectors that was cut off or deleted must not pass for one of zeros."""
        query = "SELECT max(place) FROM records WHERE collection = ?"
        [(last,)] = self._read(query, (number,))
        if last is not None and last >= len(rows):
            rows.close()
            raise StoreUnavailable(
                f"{self._path(number, ROWS)} has {len(rows)} of the {last + 1} vectors that the "
                f"ledger notes: it is damaged. {MENDING}"
            )

    def _open_codes(self, number: int) -> Codes | None:
        """The codes of a collection, if it has been large enough to need them."""
        with self._opening:
            if number not in self._codes:
                query = "SELECT centre FROM collections WHERE number = ? AND centre NOTNULL"
                for (centre,) in self._read(query, (number,)):
                    self._make_codes(number, np.frombuffer(centre, FLOAT))
            return self._codes.get(number)

    def _make_codes(self, number: int, centre: Vectors) -> None:
        codes = Codes(self._path(number, CODES), centre)
        rows = self.rows(number)
        for start in range(len(codes), len(rows), CODED):
            places = np.arange(start, min(start + CODED, len(rows)))
            codes.write(places, rows.take(places))
        codes.sync()
        self._codes[number] = codes

    def _drop_codes(self, number: int) -> None:
        if codes := self._codes.pop(number, None):
            codes.close()
        if path := self._path(number, CODES):
            path.unlink(missing_ok=True)

    def _path(self, number: int, suffix: str) -> Path | None:
        return self._folder / f"{number}{suffix}" if self._folder else None
