"""The engine: one home, its lock, its workers, its model and its vector store.

Built once by whoever hosts the servers and passed to them. Nothing heavy happens on
opening: the store is connected and the model loaded at their first use.

What is acknowledged is on the disk. What a process left unfinished when it died is removed
before the store is used again (`_recover`), so a document is there whole or not at all, and
one that was being replaced is there as it was.
"""

import hashlib
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import anyio
import anyio.to_thread

from quinion import __version__
from quinion.embed.local import LocalEmbedder
from quinion.embed.numerics import Numerics
from quinion.embed.port import Embedder, Vectors
from quinion.embed.truncated import Truncated
from quinion.errors import QuinionError
from quinion.model.record import Hit, Metadata, Record
from quinion.pipeline.gate import Gate
from quinion.pipeline.keeping import back_up
from quinion.pipeline.tasks import together
from quinion.pipeline.workers import Workers
from quinion.search.query import check_query
from quinion.settings import Settings
from quinion.store.apart import open_chroma
from quinion.store.backup import Part, load, save, sweep
from quinion.store.chroma import Place
from quinion.store.filters import Where
from quinion.store.journal import Intent, Journal, Trace
from quinion.store.ledger import Ledger
from quinion.store.lock import FolderLock, hold
from quinion.store.proof import Proof
from quinion.store.vectors import VectorStore

if TYPE_CHECKING:
    from quinion.embed.tokens import TokenCounter

log = logging.getLogger(__name__)

ENGINES = {
    "onnx": Numerics.ONNX,
    "openvino": Numerics.OPENVINO,
    "ctranslate2": Numerics.CTRANSLATE2,
}
"""By the setting; what is not here is chosen by a trial."""

REPLACING = "replacing"
"""The folder of what is put aside while it is replaced."""
SWITCH_S = 0.001
"""How long a thread may keep others from Python: a search goes through several hands, and while
documents are taken in it would wait for each of them as long."""

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(slots=True)
class _State:
    """What an engine and its views have in common."""

    ready: bool = False


class Engine:
    """Everything that the servers share. Use `open_engine`.

    `model` is the local embedding model; `embedder` is the same, with texts cut to the length
    that two of the contracts prescribe. A server that opens something of its own hands its
    closing to `at_close`.
    """

    def __init__(
        self,
        settings: Settings,
        lock: FolderLock,
        workers: Workers,
        element_workers: Workers,
        model: Embedder,
        store: VectorStore,
        journal: Journal,
        at_close: Callable[[Callable[[], object]], object],
    ) -> None:
        self.settings = settings
        self.at_close = at_close
        self.lock = lock
        self.workers = workers
        self.element_workers = element_workers
        self.model = model
        self.embedder = Truncated(model)
        self._store = store
        self._journal = journal
        self._live: set[int] = set()
        self._state = _State()
        self._opening = anyio.Lock()
        self._gate = Gate()

    def seen_with(self, settings: Settings) -> "Engine":
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
        from quinion.embed.tokens import TokenCounter  # noqa: PLC0415

        return TokenCounter.of(self.settings.model_dir, self.settings.models)

    @property
    def place(self) -> str:
        """Where the vectors are, in one text: what is noted elsewhere about them names it."""
        return str(self._store.place)

    def declare(self, collection: str, fingerprint: str | None) -> None:
        """Say which model this collection's vectors come from, where it is not the local one;
        None: not known yet."""
        self._store.declare(collection, fingerprint)

    async def store(self) -> VectorStore:
        """The vector store, cleared of what a dead process left.

        Raises:
            StoreUnavailable: Chroma is needed for that and does not answer; the next call tries
                again.
        """
        async with self._opening:
            if not self._state.ready:
                await in_thread(self._recover)
                self._state.ready = True
        return self._store

    async def search(
        self,
        collection: str,
        query: str,
        limit: int,
        where: Where | None = None,
    ) -> list[Hit]:
        """The chunks nearest in meaning to the query, best first."""
        check_query(query)
        store = await self._open_to_search(self.embedder)

        def find() -> list[Hit]:
            return store.query(collection, self.embedder.embed_query(query), limit, where)

        async with self._gate.open():
            return await in_thread(find)

    async def embed_query(self, query: str, embedder: Embedder) -> Vectors:
        """The vector of a query.

        Raises:
            InvalidInput: the query has no word in it.
            ModelUnavailable: the model cannot be loaded or run.
        """
        check_query(query)
        await self._open_to_search(embedder)
        return await in_thread(embedder.embed_query, query)

    async def nearest(
        self,
        collection: str,
        vector: Vectors,
        limit: int,
        where: Where | None = None,
    ) -> list[Hit]:
        """The chunks nearest to the vector, best first."""
        store = await self.store()
        async with self._gate.open():
            return await in_thread(store.query, collection, vector, limit, where)

    async def get(
        self, collection: str, *, ids: Sequence[str] | None = None, where: Where | None = None
    ) -> list[Record]:
        """The records with these ids, or all that match."""
        store = await self.store()
        async with self._gate.open():
            return await in_thread(lambda: store.get(collection, ids=ids, where=where))

    async def collections(self) -> list[str]:
        """The names of all collections that have been written to."""
        store = await self.store()
        return await in_thread(store.collections)

    async def find_damage(self) -> list[str]:
        """What is amiss with the ledger's database as a whole.

        Raises:
            StoreUnavailable: what a dead process left cannot be undone.
        """
        store = await self.store()
        return await in_thread(store.prover.find_damage)

    async def verify(self, collection: str, *, repair: bool = False) -> Proof:
        """Prove that both copies of every record are there and whole; mend them if asked to.

        Raises:
            StoreUnavailable: Chroma or the ledger can't be read; the message says what to do.
        """
        store = await self.store()
        survey = await in_thread(store.prover.survey, collection)
        if not survey.findings:
            return Proof(survey.records)

        def judge() -> Proof:
            with self._journal.still():
                return store.prover.judge(survey, repair=repair)

        async with self._gate.closed() if repair else self._gate.open():
            return await in_thread(judge)

    async def back_up(self) -> Path:
        """Write all that the home keeps into an archive in it, and say where that is.

        Raises:
            StoreUnavailable: something can't be read or written.
            InvalidInput: the store is in memory.
        """
        store = await self.store()
        async with self._gate.open():  # so that nothing is half replaced
            return await in_thread(back_up, self.settings, self._journal, store.ledger, self.place)

    async def count(self, trace: Trace) -> int:
        """How many records the trace names."""
        store = await self.store()
        async with self._gate.open():
            return await in_thread(store.count_traced, trace)

    async def set_metadata(self, trace: Trace, values: Metadata) -> None:
        """Write these values into the metadata of all records that the trace names.

        Not atomic: a process that dies half-way has written some. Callers note elsewhere what
        they have set, after it is done, and set it again otherwise.
        """
        store = await self._open_to_write([trace])
        with anyio.CancelScope(shield=True):
            async with self._gate.closed():
                await in_thread(store.set_metadata, trace, values)

    @asynccontextmanager
    async def writing(self, traces: Sequence[Trace]) -> AsyncIterator["Writer"]:
        """All or nothing: what is written inside is kept if the block ends well.

        Otherwise, also when it is cancelled or the process dies, what `traces` names is
        removed. Searches do not see it before it is whole.
        """
        store = await self._open_to_write(traces)
        intent = await self._begin(traces)
        store.hidden.add(traces)
        try:
            yield Writer(store)
            await in_thread(self._journal.end, intent)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._undo(intent)
            raise
        self._finish(intent)

    async def replace(
        self,
        changes: Sequence["Change"],
        then: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """Put the records of each change in the place of what its trace names, and do `then`.

        Readers see the old ones or the new ones, and so does the next process if this one
        dies meanwhile; if `then` fails, the old ones are put back. Once begun it is not
        cancelled: it takes a second.
        """
        store = await self._open_to_write([change.trace for change in changes])
        with anyio.CancelScope(shield=True):
            async with self._gate.closed():
                old = [await in_thread(_part, store, change.trace) for change in changes]
                traces = [trace for change in changes for trace in change.traces()]
                # The new ids may be those of records that no trace of ours names.
                parts = [await in_thread(_part, store, trace) for trace in traces]
                backup = await in_thread(save, self.settings.home / REPLACING, parts)
                intent = await self._begin(traces, backup)
                try:
                    for change, (_, records, _) in zip(changes, old, strict=True):
                        await in_thread(_exchange, store, change, records)
                    if then:
                        await then()
                    await in_thread(self._journal.end, intent)
                except BaseException:
                    await self._undo(intent)
                    raise
                self._finish(intent)

    async def remove(self, traces: Sequence[Trace]) -> None:
        """Delete what the traces name, all of it, even if the process dies half-way."""
        store = await self._open_to_write(traces)
        with anyio.CancelScope(shield=True):
            async with AsyncExitStack() as stack:
                if any(trace.is_whole for trace in traces):
                    # Nobody may be reading a collection that goes away.
                    await stack.enter_async_context(self._gate.closed())
                intent = await self._begin(traces)
                store.hidden.add(traces)
                await self._undo(intent)

    async def put_away(self, traces: Sequence[Trace]) -> Path | None:
        """Remove what the traces name, once a copy of it lies in the home; where that is.

        For what belongs to nothing any more. None, and nothing done, where it is being written.
        """
        store = await self._open_to_write(traces)
        if store.hidden.has(traces):
            return None
        parts = [await in_thread(_part, store, trace) for trace in traces]
        copy_ = await in_thread(save, self.settings.home / "dropped", parts)
        await self.remove(traces)
        return copy_

    async def _open_to_search(self, embedder: Embedder) -> VectorStore:
        """The store, connected while the model is loaded if this is a process's first search."""
        if not self._state.ready:
            await together(self.store, partial(in_thread, embedder.load))
        return await self.store()

    async def _open_to_write(self, traces: Sequence[Trace]) -> VectorStore:
        """The store, once it is certain that it can be written: nothing is begun in vain."""
        store = await self.store()
        await in_thread(store.agree, {trace.collection for trace in traces})
        return store

    async def _begin(self, traces: Sequence[Trace], backup: Path | None = None) -> Intent:
        intent = await in_thread(self._journal.begin, traces, backup)
        self._live.add(intent.id)
        return intent

    async def _undo(self, intent: Intent) -> None:
        """Make it as it was. If even that fails it stays recorded, and what was hidden stays
        hidden, and the next use of the store tries again."""
        try:
            await in_thread(self._restore, intent)
        except QuinionError:
            self._live.discard(intent.id)
            self._state.ready = False
            raise
        self._finish(intent)

    def _finish(self, intent: Intent) -> None:
        self._live.discard(intent.id)
        self._store.hidden.remove(intent.traces)

    def _recover(self) -> None:
        for intent in self._journal.unfinished():
            if intent.id not in self._live:
                for trace in intent.traces:
                    self._store.reconcile(trace.collection)
                log.warning("undoing what an interrupted operation left: %r", str(intent.traces[0]))
                self._restore(intent)
                self._store.hidden.remove(intent.traces)

    def _restore(self, intent: Intent) -> None:
        for trace in intent.traces:
            self._store.delete(trace)
        if intent.backup:
            for collection, records, vectors in load(intent.backup):
                self._store.upsert(collection, records, vectors)
        self._journal.end(intent)


@dataclass(frozen=True, slots=True)
class Change:
    """Records to put in the place of what the trace names."""

    trace: Trace
    records: Sequence[Record]
    vectors: Vectors

    def traces(self) -> list[Trace]:
        """All that there may be of it: the old ones and, if there are any, the new ones."""
        ids = [record.id for record in self.records]
        return [self.trace, *([Trace.at(self.trace.collection, *ids)] if ids else [])]


class Writer:
    """What may be done inside `Engine.writing`."""

    def __init__(self, store: VectorStore) -> None:
        self._store = store

    async def upsert(self, collection: str, records: Sequence[Record], vectors: Vectors) -> None:
        """Write records; they are seen once the block has ended."""
        await in_thread(self._store.upsert, collection, records, vectors)


def _part(store: VectorStore, trace: Trace) -> Part:
    return trace.collection, *store.get_with_vectors(trace)


def _exchange(store: VectorStore, change: Change, old: Sequence[Record]) -> None:
    stale = {record.id for record in old} - {record.id for record in change.records}
    store.upsert(change.trace.collection, change.records, change.vectors)
    store.delete_ids(change.trace.collection, sorted(stale))


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking work beside the event loop. A cancelled caller still waits for its end, so
    that nothing goes on writing behind our back."""
    return await anyio.to_thread.run_sync(lambda: function(*args, **kwargs))


@asynccontextmanager
async def open_engine(settings: Settings) -> AsyncIterator[Engine]:
    """Take the home and build the engine on it.

    Raises:
        HomeInUse: another process has the home, or the vector store's folder.
        BadSetting: a folder cannot be used.
    """
    place = Place(settings.chroma_folder, settings.chroma_url)
    sys.setswitchinterval(SWITCH_S)
    async with AsyncExitStack() as stack:
        lock = stack.enter_context(hold(settings.home, __version__))
        if place.folder and not place.url:
            # Also where it lies inside the home: another home may be pointed at it.
            stack.enter_context(hold(place.folder, __version__))
        model = LocalEmbedder(
            settings.models,
            settings.model_dir,
            numerics=ENGINES.get(settings.embedding_engine),
        )
        journal = Journal(settings.home / "journal.db", str(place))
        stack.callback(journal.close)
        sweep(settings.home / REPLACING, journal.backups())
        workers = Workers(settings.workers)
        stack.push_async_callback(workers.close)
        element_workers = Workers(settings.workers, module="quinion.pipeline.element_worker")
        stack.push_async_callback(element_workers.close)
        ledger = Ledger(ledger_folder(settings.home, place))
        store = VectorStore(open_chroma(place), ledger, lambda: model.fingerprint)
        stack.callback(store.close)
        yield Engine(
            settings, lock, workers, element_workers, model, store, journal, stack.callback
        )


def ledger_folder(home: Path, place: Place) -> Path | None:
    """One for each store that this home has been used with; in memory where that is."""
    if not place.folder and not place.url:
        return None
    return home / "ledger" / hashlib.blake2b(str(place).encode(), digest_size=4).hexdigest()
