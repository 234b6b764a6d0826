"""Store protocol: the operations that the engine needs from a vector store.

A store has collections, and a collection has records, each with a vector. An adapter
(`embedded/`, in a folder or in memory) passes `tests/store_conformance`, which specifies each
method. Nothing outside this package imports an adapter.

All methods block and are thread-safe. They raise StoreUnavailable when the store does not answer
or is damaged; the message says what to do.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quinion.lexical.word_query import WordQuery
from quinion.model.record import Hit, Metadata, Record, Scalar
from quinion.store.filters import Where, all_of
from quinion.store.leases import Leases

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Selector:
    """Selection of records of one collection: by ids, by metadata values, or all."""

    collection: str
    ids: tuple[str, ...] | None = None
    values: tuple[tuple[str, Scalar], ...] = ()

    @classmethod
    def by_ids(cls, collection: str, ids: Sequence[str]) -> "Selector":
        """Select the records with these ids; an empty list selects nothing."""
        return cls(collection, ids=tuple(ids))

    @classmethod
    def by_values(cls, collection: str, **values: Scalar) -> "Selector":
        """Select the records whose metadata has all of these values, at least one."""
        if not values:
            raise ValueError("without a value this would select the entire collection")
        return cls(collection, values=tuple(values.items()))

    @classmethod
    def everything(cls, collection: str) -> "Selector":
        """Select all records of the collection."""
        return cls(collection)

    @property
    def is_everything(self) -> bool:
        """Whether all records of the collection are selected."""
        return self.ids is None and not self.values

    @property
    def where(self) -> Where | None:
        """The filter for its values; None without values."""
        return all_of(*({key: value} for key, value in self.values))


@dataclass(frozen=True, slots=True)
class Candidates:
    """Candidates of a search by words: the cosine of each, and its BM25 score, at least 0.

    `mean_cosine` is the product of the query's vector and the mean vector of the collection,
    which may be that of a sample.
    """

    cosines: Vectors
    words: Vectors
    mean_cosine: float


Rank = Callable[[Candidates], Vectors]
"""Computes the score of each candidate, by which they are sorted."""


@dataclass(frozen=True, slots=True)
class IntegrityReport:
    """Result of an integrity check.

    `problems` concern the store and remain after a repair. `warnings` concern its mirror, which
    is only a copy, and a keyword index that is being built. `repaired` lists the problems that
    were repaired.
    """

    records: int = 0
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MirrorLag:
    """How far the mirror is behind: changes that it lacks, and the age of the oldest."""

    pending: int = 0
    seconds: float = 0.0


class Mirror(Protocol):
    """Replica of the store that is updated from the outbox."""

    def notify(self) -> None:
        """Called after each commit."""
        ...

    def lag_s(self) -> float:
        """Seconds since the first commit that the mirror lacks."""
        ...

    def fetch(self, collection: str, ids: Sequence[str]) -> dict[str, tuple[Record, Vectors]]:
        """Fetch the mirror's copies of these records, as far as they exist."""
        ...

    def check(self, collection: str, *, repair: bool) -> list[str]:
        """Find differences between the mirror and the store, and optionally repair the mirror."""
        ...

    def close(self) -> None:
        """Send the rest of the outbox and stop."""
        ...


class Transaction(Protocol):
    """Atomic changes to any number of collections."""

    def model(self, collection: str) -> str:
        """The fingerprint of the collection's embedding model; empty if it has none."""
        ...

    def upsert(
        self, collection: str, records: Sequence[Record], vectors: Vectors, model: str
    ) -> None:
        """Write records with their vectors; records with the same ids are replaced.

        `model` is the fingerprint of the embedding model. A collection keeps the model of its
        first records.

        Raises:
            InvalidInput: the vectors differ in length from those of the collection.
        """
        ...

    def update_metadata(self, selector: Selector, values: Metadata) -> int:
        """Set these values in the metadata of the selected records; return their number."""
        ...

    def delete(self, selector: Selector) -> int:
        """Delete the selected records; return their number.

        A selector for the entire collection also deletes the collection and its model.
        """
        ...

    def set_value(self, key: str, value: str) -> None:
        """Set a key of the store's key-value table."""
        ...

    def delete_value(self, key: str) -> None:
        """Delete a key, if it exists."""
        ...


class VectorStore(Protocol):
    """Collections of records with vectors, and a small key-value table.

    Every read sees one snapshot: a transaction is visible only after its commit, and then
    completely. A thread with an open transaction must not read the store.

    `leases` are `None` if only one engine may open the store.
    """

    @property
    def leases(self) -> Leases | None: ...

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Open a transaction: commit when the block ends, roll back when it raises.

        Transactions of this engine are serialized, and those of several engines if they use the
        same collection. Committed changes survive a crash of the process.

        Raises:
            LeaseLost: another engine has taken over the work that `store.leases.covered_by` covers.
            TransactionConflict: another transaction was in the way; this one can be repeated.
        """
        ...

    def get(
        self, collection: str, *, ids: Sequence[str] | None = None, where: Where | None = None
    ) -> list[Record]:
        """Read the records with these ids, or all that match, in insertion order."""
        ...

    def get_newest(
        self, collection: str, offset: int, limit: int, where: Where | None = None
    ) -> list[Record]:
        """Read a part of the records that match, newest first: `limit` of them from `offset` on."""
        ...

    def get_with_vectors(self, selector: Selector) -> tuple[list[Record], Vectors]:
        """Read the selected records with their vectors."""
        ...

    def search_vectors(
        self, collection: str, vector: Vectors, limit: int, where: Where | None = None
    ) -> list[Hit]:
        """Find the matching records nearest to the vector, best first."""
        ...

    def search_words(
        self,
        collection: str,
        query: WordQuery,
        vector: Vectors,
        limit: int,
        rank: Rank,
        *,
        nearest: int = 0,
        where: Where | None = None,
    ) -> list[Hit]:
        """Find the matching records for the words of a query, best first, each with its `match`.

        The candidates are the best by BM25, at least `limit` or `nearest` of them, and the
        `nearest` by vector. Only records with all of the query's phrases are candidates. If there
        are none, a search with `nearest` ignores the phrases. The order of equal scores
        is always the same.

        Raises:
            StoreUnavailable: the keyword index is damaged; or it is not complete yet, and
                `nearest` is 0.
        """
        ...

    def count(self, selector: Selector) -> int:
        """Count the selected records."""
        ...

    def collections(self) -> list[str]:
        """The names of all collections."""
        ...

    def model(self, collection: str) -> str:
        """The fingerprint of the collection's embedding model; empty if it has none."""
        ...

    def values(self, prefix: str = "") -> Mapping[str, str]:
        """Read the key-value table: all keys that start with the prefix."""
        ...

    def refresh(self) -> None:
        """Let later reads see all that other engines have committed so far.

        Reads may come from a standby, which always has what this engine itself has written.
        """
        ...

    def mirror_lag(self) -> MirrorLag:
        """How far the mirror is behind; zero without a mirror."""
        ...

    def check_files(self) -> list[str]:
        """Check the store's files; return the problems, or an empty list."""
        ...

    def check(self, collection: str, *, repair: bool = False) -> IntegrityReport:
        """Check all records of a collection and its indexes; optionally repair them."""
        ...

    def freeze_writes(self) -> AbstractContextManager[None]:
        """Block transactions during the block; reads continue."""
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
