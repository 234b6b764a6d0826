"""Protocol of the engine for ingestion: workers, embedding model, store, kept files, settings."""

from typing import TYPE_CHECKING, Protocol

from quinion.embed.base import Embedder
from quinion.ingest.kept_files import KeptFiles
from quinion.settings import Settings
from quinion.store.base import VectorStore
from quinion.store.collections import Collections
from quinion.store.locks import Locks
from quinion.workers.pool import Workers

if TYPE_CHECKING:
    from quinion.embed.token_counter import TokenCounter
    from quinion.ingest.pictures import Pictures


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

    @property
    def embedder(self) -> Embedder:
        """The embedding model, which reads only the first characters of a text."""
        ...

    @property
    def counter(self) -> "TokenCounter":
        """Token counter of the local embedding model."""
        ...
