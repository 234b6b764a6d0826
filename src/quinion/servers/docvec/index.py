"""The index: its chunks searched, counted and deleted. Files are taken in by `indexing`."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

from quinion.concurrency import in_thread
from quinion.embed.base import Embedder
from quinion.embed.factory import Backend, make_embedder
from quinion.engine import Engine
from quinion.model.record import Hit
from quinion.search.query import check_query
from quinion.servers.docvec.records import IndexCollections
from quinion.store.base import Selector
from quinion.store.filters import Where


@dataclass(frozen=True, slots=True)
class Timed:
    """Hits, best first, and the seconds that finding them took."""

    hits: list[Hit]
    embedding_s: float
    search_s: float


class Index:
    """One collection of files and their chunks.

    `writing` is held by whoever changes it, for as long as one change takes.
    """

    def __init__(self, engine: Engine) -> None:
        settings = engine.settings
        self.engine = engine
        self.collections = IndexCollections(settings.docvec_collection)
        self.embedder = self._open_embedder()
        self.writing = anyio.Lock()
        self._declared = self.embedder is engine.model
        if not self._declared:
            engine.declare(self.collections.chunks, None)

    async def search(self, query: str, limit: int, where: Where | None = None) -> Timed:
        """The chunks nearest in meaning to the query.

        Raises:
            InvalidInput: the query has no word in it.
            ModelUnavailable, StoreUnavailable: as they say.
        """
        await self.declare()
        check_query(query)

        def find() -> Timed:
            started = time.perf_counter()
            vector = self.embedder.embed_query(query)
            embedded = time.perf_counter()
            hits = self.engine.nearest(self.collections.chunks, vector, limit, where)
            return Timed(hits, embedded - started, time.perf_counter() - embedded)

        return await in_thread(find)

    async def declare(self) -> None:
        """Make sure that the index was made with the model that is configured.

        A service has to be asked which model it has. Counting and deleting works without.

        Raises:
            ModelUnavailable: the service does not answer.
        """
        if not self._declared:
            self.engine.declare(
                self.collections.chunks, await in_thread(lambda: self.embedder.fingerprint)
            )
            self._declared = True

    async def known(self) -> dict[str, str]:
        """The indexed files, each with the hash of the content that was indexed."""
        records = await self.engine.get(self.collections.files)
        return {record.id: str(record.metadata["doc_hash"]) for record in records}

    async def count(self) -> int:
        """How many chunks there are."""
        return await self.engine.count(Selector.everything(self.collections.chunks))

    async def delete_chunks(self, ids: Sequence[str]) -> list[str]:
        """Delete these chunks, and say which there were. A file without chunks goes too."""
        if not ids:
            return []
        async with self.writing:
            records = await self.engine.get(self.collections.chunks, ids=list(dict.fromkeys(ids)))
            if not records:
                return []
            found = [record.id for record in records]
            selectors = [Selector.by_ids(self.collections.chunks, found)]
            for path in {str(record.metadata["source_file"]) for record in records}:
                going = sum(record.metadata["source_file"] == path for record in records)
                if await self.engine.count(self.collections.chunks_of(path)) == going:
                    selectors.append(Selector.by_ids(self.collections.files, [path]))
            await self.engine.delete(selectors)
            return found

    async def delete_file(self, path: str) -> int:
        """Delete all that is kept of a file, and say how many chunks that were."""
        async with self.writing:
            count = await self.engine.count(self.collections.chunks_of(path))
            await self.engine.delete(self.collections.all_of(path))
            return count

    async def clear(self) -> int:
        """Delete everything, and say how many chunks that were."""
        async with self.writing:
            count = await self.count()
            await self.engine.delete(
                [
                    Selector.everything(self.collections.files),
                    Selector.everything(self.collections.chunks),
                ]
            )
            return count

    def _count_tokens(self, text: str) -> int:
        return self.engine.counter.count(text)

    def _open_embedder(self) -> Embedder:
        settings = self.engine.settings
        if settings.docvec_backend == "local":
            return self.engine.model
        return make_embedder(
            Backend(settings.docvec_backend),
            host=settings.docvec_host,
            model=settings.docvec_model,
            api_key=settings.docvec_api_key,
            timeout_s=settings.docvec_timeout,
            count=self._count_tokens,
        )

    async def find_vanished(self, paths: Sequence[str]) -> list[str]:
        """Those of the paths at which nothing is any more."""
        return await in_thread(lambda: [path for path in paths if is_gone(path)])


def is_gone(path: str) -> bool:
    """Whether there is nothing at this path. What may not be looked at is taken to be there."""
    try:
        Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
