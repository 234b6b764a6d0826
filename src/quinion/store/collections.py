"""Collections of a store for asynchronous callers, each used with its own embedding model only."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from quinion.concurrency import in_thread
from quinion.errors import BadSetting, TransactionConflict
from quinion.lexical.word_query import WordQuery
from quinion.model.record import Hit, Record
from quinion.store.base import Rank, Selector, Transaction, Vectors, VectorStore
from quinion.store.filters import Where

ATTEMPTS = 5
"""How often a transaction is tried, if others are in the way."""

T = TypeVar("T")


class Collections:
    """The collections of one store.

    A collection keeps the model that its vectors were made with. `local_model` returns the
    fingerprint of the model for collections without a declared one.
    """

    def __init__(self, store: VectorStore, local_model: Callable[[], str]) -> None:
        self._store = store
        self._local_model = local_model
        self._declared: dict[str, str | None] = {}

    def declare(self, collection: str, fingerprint: str | None) -> None:
        """Declare the embedding model of a collection that does not use the local one.

        `None` means that the model is not known yet: only operations without vectors work.
        """
        self._declared[collection] = fingerprint

    def search_vectors(
        self, collection: str, vector: Vectors, limit: int, where: Where | None = None
    ) -> list[Hit]:
        """The chunks nearest to the vector, best first. Blocks.

        Raises:
            BadSetting: the collection was made with another model.
        """
        self._check_search(collection)
        return self._store.search_vectors(collection, vector, limit, where)

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
        """The chunks with the words of the query, best first; see `VectorStore`. Blocks.

        Raises:
            BadSetting: the collection was made with another model.
        """
        self._check_search(collection)
        return self._store.search_words(
            collection, query, vector, limit, rank, nearest=nearest, where=where
        )

    async def get(
        self, collection: str, *, ids: Sequence[str] | None = None, where: Where | None = None
    ) -> list[Record]:
        """Read the records with these ids, or all that match the filter."""
        return await in_thread(lambda: self._store.get(collection, ids=ids, where=where))

    async def get_newest(
        self, collection: str, offset: int, limit: int, where: Where | None = None
    ) -> list[Record]:
        """Read a part of the records that match, newest first."""
        return await in_thread(self._store.get_newest, collection, offset, limit, where)

    async def count(self, selector: Selector) -> int:
        """Count the selected records."""
        return await in_thread(self._store.count, selector)

    async def write(self, work: Callable[["Write"], T]) -> T:
        """Run `work`, which may block, in one transaction.

        Searches see the changes after the commit. A started transaction is not cancelled: it
        takes about a second. `work` is repeated if a transaction of another engine was in the way.
        """

        def run() -> T:
            with self._store.transaction() as transaction:
                result = work(Write(transaction, self._check_model))
            return result  # noqa: RET504 - to the type checker, a context may suppress errors

        for _ in range(ATTEMPTS - 1):
            with suppress(TransactionConflict):
                return await in_thread(run)
        return await in_thread(run)

    async def delete(self, selectors: Sequence[Selector]) -> int:
        """Delete the selected records, in one transaction; return their number."""
        return await self.write(lambda write: sum(map(write.delete, selectors)))

    def _check_search(self, collection: str) -> None:
        # A collection without a model was imported from another program, which used the model
        # that the contracts prescribe.
        if made_with := self._store.model(collection):
            self._check_model(collection, made_with)

    def _check_model(self, collection: str, made_with: str) -> str:
        """Check that a collection was made with the model that is configured for it.

        Return that model's fingerprint, or an empty string if it is not known yet.
        """
        is_declared = collection in self._declared
        wanted = self._declared[collection] if is_declared else self._local_model()
        if made_with and wanted and made_with != wanted:
            raise BadSetting(
                f"The collection {collection} was made with the embedding model {made_with}, and "
                f"the one configured now is {wanted}. "
                "Configure the former, or use another collection or another QUINION_HOME."
            )
        return wanted or ""


class Write:
    """Store transaction that also checks the embedding models of collections."""

    def __init__(self, transaction: Transaction, check_model: Callable[[str, str], str]) -> None:
        self._transaction = transaction
        self._check_model = check_model
        self.update_metadata = transaction.update_metadata
        self.delete = transaction.delete
        self.set_value = transaction.set_value
        self.delete_value = transaction.delete_value

    def upsert(self, collection: str, records: Sequence[Record], vectors: Vectors) -> None:
        """Write records with their vectors; records with the same ids are replaced.

        Raises:
            BadSetting: the collection was made with another model.
        """
        model = self._check_model(collection, self._transaction.model(collection))
        self._transaction.upsert(collection, records, vectors, model)
