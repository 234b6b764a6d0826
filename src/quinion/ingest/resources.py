"""What ingestion needs of the engine: worker processes, the embedding model, settings."""

from typing import TYPE_CHECKING, Protocol

from quinion.embed.base import Embedder
from quinion.settings import Settings
from quinion.workers.pool import Workers

if TYPE_CHECKING:
    from quinion.embed.token_counter import TokenCounter


class Resources(Protocol):
    """Implemented by `engine.Engine`, which is a layer above."""

    settings: Settings
    workers: Workers
    element_workers: Workers

    @property
    def embedder(self) -> Embedder:
        """The embedding model, which sees the first characters of a text only."""
        ...

    @property
    def counter(self) -> "TokenCounter":
        """Counts tokens as the local embedding model has them."""
        ...
