"""Protocol of the engine for ingestion: workers, embedding model, store, kept files, settings."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from quinion.embed.base import Embedder
from quinion.ingest.kept_files import KeptFiles
from quinion.ingest.progress import Progress
from quinion.ingest.source import Source
from quinion.settings import Settings
from quinion.store.base import VectorStore
from quinion.store.collections import Collections
from quinion.store.locks import Locks
from quinion.workers.pool import Workers

if TYPE_CHECKING:
    from quinion.embed.token_counter import TokenCounter
    from quinion.ingest.pictures import Pictures


Arguments = Mapping[str, Any]
"""Arguments of a task for workers, in JSON form."""
DoTask = Callable[[Source, Arguments, Progress], Awaitable[Any]]
"""Does a task in this process and returns its result in JSON form."""


class HandOver(Protocol):
    """Queue of files that workers on any host ingest."""

    async def run(
        self, kind: str, source: Source, arguments: Arguments, progress: Progress
    ) -> Any | None:
        """Hand a task over, wait for it, and return its result; `None` if there is no worker.

        Raises:
            QuinionError: the task failed.
            StoreUnavailable: the queue or the bucket does not answer.
        """
        ...


class Resources(Protocol):
    """Resources that ingestion uses; implemented by `engine.Engine`, one layer above."""

    settings: Settings
    workers: Workers
    element_workers: Workers
    page_workers: Workers
    model: Embedder
    store: VectorStore
    collections: Collections
    locks: Locks
    kept: KeptFiles
    pictures: "Pictures"
    queue: HandOver | None

    @property
    def embedder(self) -> Embedder:
        """The embedding model, which reads only the first characters of a text."""
        ...

    @property
    def counter(self) -> "TokenCounter":
        """Token counter of the local embedding model."""
        ...
