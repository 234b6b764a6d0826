"""The store port: what the engine asks of the place where records are kept.

A store has collections; a collection has records, each with a vector. An adapter keeps them
(`embedded/` in a folder or in memory) and passes `tests/store_conformance`, which says what
each method means. Nothing outside this package imports an adapter.

Calls block and may come from any thread. All of them raise StoreUnavailable when the store
does not answer or is damaged; the message says what to do.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quinion.model.record import Hit, Metadata, Record, Scalar
from quinion.store.filters import Where, all_of

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Selector:
    """Records of one collection: those with these ids, or with these values, or all."""

    collection: str
    ids: tuple[str, ...] | None = None
    values: tuple[tuple[str, Scalar], ...] = ()

    @classmethod
    def by_ids(cls, collection: str, ids: Sequence[str]) -> "Selector":
        """The records with these ids; an empty list selects nothing."""
        return cls(collection, ids=tuple(ids))

    @classmethod
    def by_values(cls, collection: str, **values: Scalar) -> "Selector":
        """The records whose metadata has these values, one or more."""
        if not values:
            raise ValueError("without a value this would select the whole collection")
        return cls(collection, values=tuple(values.items()))

    @classmethod
    def everything(cls, collection: str) -> "Selector":
        """The whole collection."""
        return cls(collection)

    @property
    def is_everything(self) -> bool:
        """Whether it selects the whole collection."""
        return self.ids is None and not self.values

    @property
    def where(self) -> Where | None:
        """The filter for its values; None without values."""
        return all_of(*({key: value} for key, value in self.values))


@dataclass(frozen=True, slots=True)
class IntegrityReport:
    """The outcome of an integrity check.

    `problems` are about the store itself and remain after a repair; `warnings` are about its
    mirror, which is only a copy; `repaired` lists what was repaired.
    """

    records: int = 0
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()


class Transaction(Protocol):
    """Changes to any number of collections: all of them happen, or none."""

    def model(self, collection: str) -> str:
        """The fingerprint of the collection's embedding model; empty if it has none."""
        ...

    def upsert(
        self, collection: str, records: Sequence[Record], vectors: Vectors, model: str
    ) -> None:
        """Write records with their vectors, replacing those of the same ids.

        `model` is the fingerprint of the embedding model. A collection keeps the one that its
        first records came with.

        Raises:
            InvalidInput: the vectors have another length than those of the collection.
        """
        ...

    def update_metadata(self, selector: Selector, values: Metadata) -> int:
        """Set these values in the metadata of the selected records; return their number."""
        ...

    def delete(self, selector: Selector) -> int:
        """Delete the selected records; return their number. An emptied collection that was
        selected as a whole is gone, with its model."""
        ...

    def set_value(self, key: str, value: str) -> None:
        """Set a key of the store's key-value table."""
        ...

    def delete_value(self, key: str) -> None:
        """Delete a key; a missing one is fine."""
        ...


class VectorStore(Protocol):
    """Collections of records with vectors, and a small key-value table.

    Every read sees one snapshot: a transaction is visible as a whole once it has been
    committed, and not before. A thread that has a transaction open must not read the store.
    """

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Commit when the block ends, roll back when it raises.

        Transactions run one after the other. What was committed survives the process.
        """
        ...

    def get(
        self, collection: str, *, ids: Sequence[str] | None = None, where: Where | None = None
    ) -> list[Record]:
        """The records with these ids, or all that match, in the order of their insertion."""
        ...

    def get_with_vectors(self, selector: Selector) -> tuple[list[Record], Vectors]:
        """The selected records, and the vector of each."""
        ...

    def search_vectors(
        self, collection: str, vector: Vectors, limit: int, where: Where | None = None
    ) -> list[Hit]:
        """The records nearest to the vector among those that match, best first."""
        ...

    def count(self, selector: Selector) -> int:
        """The number of selected records."""
        ...

    def collections(self) -> list[str]:
        """The names of all collections."""
        ...

    def model(self, collection: str) -> str:
        """The fingerprint of the collection's embedding model; empty if it has none."""
        ...

    def values(self, prefix: str = "") -> Mapping[str, str]:
        """The key-value table: all keys that start with the prefix."""
        ...

    def check_files(self) -> list[str]:
        """Problems of the store's files as a whole; an empty list is good news."""
        ...

    def check(self, collection: str, *, repair: bool = False) -> IntegrityReport:
        """Check every record of a collection and its indexes, and repair what can be repaired."""
        ...

    def freeze_writes(self) -> AbstractContextManager[None]:
        """Keep transactions waiting for the duration of the block; reads go on."""
        ...

    def copy_to(self, folder: Path) -> None:
        """Write a copy of the store's files into the folder.

        Raises:
            InvalidInput: the store has no files.
        """
        ...

    def close(self) -> None:
        """Release files and connections."""
        ...
