"""The engine: one home with its lock, workers, embedding model and store.

Each process builds one engine and passes it to its servers. The model is loaded at first use.

Acknowledged writes are on the disk. A document is one store transaction, so after a crash it is
there completely or not at all.
"""

import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from quinion.backup import back_up
from quinion.concurrency import in_thread
from quinion.embed.base import Embedder, Vectors
from quinion.embed.local.embedder import LocalEmbedder
from quinion.embed.local.runtimes import Numerics
from quinion.embed.truncated import Truncated
from quinion.errors import BadSetting
from quinion.home import hold_home, store_place
from quinion.model.record import Hit, Record
from quinion.search.query import check_query
from quinion.settings import Settings
from quinion.store.base import Selector, Transaction, VectorStore
from quinion.store.factory import open_store
from quinion.store.filters import Where
from quinion.store.lock import FolderLock
from quinion.workers.pool import Workers

if TYPE_CHECKING:
    from quinion.embed.token_counter import TokenCounter

ENGINES = {
    "onnx": Numerics.ONNX,
    "ctranslate2": Numerics.CTRANSLATE2,
}
"""Numerics by the value of QUINION_EMBEDDING_ENGINE; `auto` runs a benchmark instead."""

SWITCH_INTERVAL_S = 0.001
"""Longest time that a thread holds the interpreter lock. A search switches threads several times,
and would wait this long at each switch while documents are ingested."""

T = TypeVar("T")


@dataclass(eq=False)
class Engine:
    """Shared resources of all servers. Use `open_engine`.

    `model` is the local embedding model; `embedder` is the same model with texts truncated to the
    length that two of the contracts prescribe. `at_close` registers a callback that closes a
    server's own resources.
    """

    settings: Settings
    lock: FolderLock
    workers: Workers
    element_workers: Workers
    model: Embedder
    store: VectorStore
    at_close: Callable[[Callable[[], object]], object]

    def __post_init__(self) -> None:
        self.embedder = Truncated(self.model)
        self._declared: dict[str, str | None] = {}

    def with_settings(self, settings: Settings) -> "Engine":
        """A view of this engine for a server with different settings."""
        view = copy(self)
        view.settings = settings
        return view

    @cached_property
    def counter(self) -> "TokenCounter":
        """Token counter of the local model. The first use blocks.

        Raises:
            ModelUnavailable: the model, which has the tokenizer, is not installed.
        """
        # Imported here because it imports tokenizers, which most servers never need.
        from quinion.embed.token_counter import TokenCounter  # noqa: PLC0415

        return TokenCounter.of(self.settings.model_dir, self.settings.models)

    def declare(self, collection: str, fingerprint: str | None) -> None:
        """Declare the embedding model of a collection that does not use the local one.

        `None` means that the model is not known yet: only operations without vectors work.
        """
        self._declared[collection] = fingerprint

    async def search(
        self,
        collection: str,
        query: str,
        limit: int,
        where: Where | None = None,
        embedder: Embedder | None = None,
    ) -> list[Hit]:
        """Semantic search: the chunks nearest to the query, best first.

        Raises:
            InvalidInput: the query is empty.
            ModelUnavailable: the model cannot be loaded or run.
        """
        check_query(query)

        def find() -> list[Hit]:
            vector = (embedder or self.embedder).embed_query(query)
            return self.nearest(collection, vector, limit, where)

        return await in_thread(find)

    def nearest(
        self, collection: str, vector: Vectors, limit: int, where: Where | None = None
    ) -> list[Hit]:
        """The chunks nearest to the vector, best first. Blocks."""
        # A collection without a model was imported from another program, which used the model
        # that the contracts prescribe.
        if made_with := self.store.model(collection):
            self.check_model(collection, made_with)
        return self.store.search_vectors(collection, vector, limit, where)

    async def get(
        self, collection: str, *, ids: Sequence[str] | None = None, where: Where | None = None
    ) -> list[Record]:
        """Read the records with these ids, or all that match the filter."""
        return await in_thread(lambda: self.store.get(collection, ids=ids, where=where))

    async def count(self, selector: Selector) -> int:
        """Count the selected records."""
        return await in_thread(self.store.count, selector)

    async def write(self, work: Callable[["Write"], T]) -> T:
        """Run `work`, which may block, in one transaction.

        Searches see the changes after the commit. A started transaction is not cancelled: it
        takes about a second.
        """

        def run() -> T:
            with self.store.transaction() as transaction:
                result = work(Write(self, transaction))
            return result  # noqa: RET504 - to the type checker, a context may suppress errors

        return await in_thread(run)

    async def delete(self, selectors: Sequence[Selector]) -> int:
        """Delete the selected records, in one transaction; return their number."""
        return await self.write(lambda write: sum(map(write.delete, selectors)))

    async def back_up(self) -> Path:
        """Write an archive of the home into the home; see `backup.back_up`."""
        return await in_thread(back_up, self.settings, self.store)

    def check_model(self, collection: str, made_with: str) -> str:
        """Check that a collection was made with the model that is configured for it.

        Return that model's fingerprint, or an empty string if it is not known yet.

        Raises:
            BadSetting: it was made with another model.
        """
        is_declared = collection in self._declared
        wanted = self._declared[collection] if is_declared else self.model.fingerprint
        if made_with and wanted and made_with != wanted:
            raise BadSetting(
                f"The collection {collection} was made with the embedding model {made_with}, and "
                f"the one configured now is {wanted}. "
                "Configure the former, or use another collection or another QUINION_HOME."
            )
        return wanted or ""


class Write:
    """Store transaction that also checks the embedding models of collections."""

    def __init__(self, engine: Engine, transaction: Transaction) -> None:
        self._engine = engine
        self._transaction = transaction
        self.update_metadata = transaction.update_metadata
        self.delete = transaction.delete
        self.set_value = transaction.set_value
        self.delete_value = transaction.delete_value

    def upsert(self, collection: str, records: Sequence[Record], vectors: Vectors) -> None:
        """Write records with their vectors; records with the same ids are replaced.

        Raises:
            BadSetting: the collection was made with another model.
        """
        model = self._engine.check_model(collection, self._transaction.model(collection))
        self._transaction.upsert(collection, records, vectors, model)


@asynccontextmanager
async def open_engine(settings: Settings) -> AsyncIterator[Engine]:
    """Lock the home and build the engine on it.

    Raises:
        HomeInUse: another process has locked the home or the store's folder.
        BadSetting: a folder cannot be used.
    """
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    async with AsyncExitStack() as stack:
        lock = stack.enter_context(hold_home(settings))
        model = LocalEmbedder(
            settings.models,
            settings.model_dir,
            numerics=ENGINES.get(settings.embedding_engine),
        )
        workers = Workers(settings.workers)
        stack.push_async_callback(workers.close)
        element_workers = Workers(settings.workers, module="quinion.workers.element_worker")
        stack.push_async_callback(element_workers.close)
        store = await in_thread(open_store, store_place(settings))
        stack.callback(store.close)
        yield Engine(settings, lock, workers, element_workers, model, store, stack.callback)
