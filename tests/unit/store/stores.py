"""Embedded stores and records for tests."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from quinion.model.record import Record, Scalar
from quinion.store.base import Vectors
from quinion.store.embedded.store import EmbeddedStore

DIMENSIONS = 8
MODEL = "model"

opened: list[EmbeddedStore] = []
"""Closed after each test by the conftest of this folder."""


def open_store(folder: Path | None, *, mirrored: bool = False) -> EmbeddedStore:
    """Open the embedded store in this folder without a mirror; None: in memory.

    `mirrored`: changes are recorded in the outbox anyway.
    """
    store = EmbeddedStore(folder, mirrored=mirrored)
    opened.append(store)
    return store


def records(count: int, prefix: str = "id", **metadata: Scalar) -> list[Record]:
    """Build records `<prefix> 0` and so on, each with its number `n` and this metadata."""
    return [
        Record(f"{prefix} {n}", f"the text of {prefix} {n}", {"n": n, **metadata})
        for n in range(count)
    ]


def vectors(count: int, seed: int = 1, dimensions: int = DIMENSIONS) -> Vectors:
    """Generate random unit vectors."""
    found = np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


def write(
    store: EmbeddedStore, collection: str, some: Sequence[Record], theirs: Vectors | None = None
) -> None:
    """Upsert records in one transaction, with random vectors if none are given."""
    with store.transaction() as transaction:
        transaction.upsert(
            collection, some, vectors(len(some)) if theirs is None else theirs, MODEL
        )
