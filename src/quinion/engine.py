"""The engine: one home, its lock, its workers, its model and its store.

Built once by the host of the servers and passed to them. The model is loaded at its first use.

What is acknowledged is on the disk, and a document is one transaction of the store: whatever
happens to the process, all of it is there or nothing.
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
"""By the setting; what is not here is chosen by a trial."""

SWITCH_INTERVAL_S = 0.001
"""How long a thread may keep others from Python: a search goes through several hands, and while
documents are taken in it would wait for each of them as long."""

T = TypeVar("T")


@dataclass(eq=False)
class Engine:
    """Everything that the servers share. Use `open_engine`.

    `model` is the local embedding model; `embedder` is the same, with texts cut to the length
    that two of the contracts prescribe. A server that opens something of its own hands its
    closing to `at_close`.
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
        """This engine, for a server that has settings of its own."""
        view = copy(self)
        view.settings = settings
        return view

    @cached_property
    def counter(self) -> "TokenCounter":
        """Counts the tokens of texts as the local model has them. Blocking at the first use.

        Raises:
            ModelUnavailable: the model, whose tokenizer it is, is not installed.
        """
        # Here, not above: it imports tokenizers, which a server may never need.
        from quinion.embed.token_counter import TokenCounter  # noqa: PLC0415

        return TokenCounter.of(self.settings.model_dir, self.settings.models)

    def declare(self, collection: str, fingerprint: str | None) -> None:
        """Say which model this collection's vectors come from, where it is not the local one;
        None: not known yet. Until then, what needs no vectors can be done."""
        self._declared[collection] = fingerprint

    async def search(
        self,
        collection: str,
        query: str,
        limit: int,
        where: Where | None = None,
        embedder: Embedder | None = None,
    ) -> list[Hit]:
        """The chunks nearest in meaning to the query, best first.

        Raises:
            InvalidInput: the query has no word in it.
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
        # A collection without a model was imported from another program, which used the one that
        # the contracts prescribe.
        if made_with := self.store.model(collection):
            self.check_model(collection, made_with)
        return self.store.search_vectors(collection, vector, limit, where)

    async def get(
        self, collection: str, *, ids: Sequence[str] | None = None, where: Where | None = None
    ) -> list[Record]:
        """The records with these ids, or all that match."""
        return await in_thread(lambda: self.store.get(collection, ids=ids, where=where))

    async def count(self, selector: Selector) -> int:
        """The number of selected records."""
        return await in_thread(self.store.count, selector)

    async def write(self, work: Callable[["Write"], T]) -> T:
        """Do the work, which blocks, in one transaction: all of it is kept, or nothing.

        Searches see it once it is complete. Once begun it is not cancelled: it takes a second.
        """

        def run() -> T:
            with self.store.transaction() as transaction:
                result = work(Write(self, transaction))
            return result  # noqa: RET504 - for the type checker, a context may swallow errors

        return await in_thread(run)

    async def delete(self, selectors: Sequence[Selector]) -> int:
        """Delete the selected records, in one transaction; return their number."""
        return await self.write(lambda write: sum(map(write.delete, selectors)))

    async def back_up(self) -> Path:
        """Write all that the home keeps into an archive in it; see `keeping.back_up`."""
        return await in_thread(back_up, self.settings, self.store)

    def check_model(self, collection: str, made_with: str) -> str:
        """Make sure that a collection was made with the model that is configured for it; return
        that model's fingerprint, empty where it is not known yet.

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
    """A transaction of the store for the engine's users: it knows the embedding models."""

    def __init__(self, engine: Engine, transaction: Transaction) -> None:
        self._engine = engine
        self._transaction = transaction
        self.update_metadata = transaction.update_metadata
        self.delete = transaction.delete
        self.set_value = transaction.set_value
        self.delete_value = transaction.delete_value

    def upsert(self, collection: str, records: Sequence[Record], vectors: Vectors) -> None:
        """Write records with their vectors, replacing those of the same ids.

        Raises:
            BadSetting: the collection was made with another model.
        """
        model = self._engine.check_model(collection, self._transaction.model(collection))
        self._transaction.upsert(collection, records, vectors, model)


@asynccontextmanager
async def open_engine(settings: Settings) -> AsyncIterator[Engine]:
    """Take the home and build the engine on it.

    Raises:
        HomeInUse: another process has the home, or the vector store's folder.
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
