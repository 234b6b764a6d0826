"""Search of the index by meaning, by words, or by both."""

from quinion.ingest.folders.folder_index import FolderIndex
from quinion.model.record import Mode
from quinion.search import modes
from quinion.search.modes import TimedHits
from quinion.servers.search_mode import choose_mode
from quinion.store.filters import Where


async def find_chunks(
    index: FolderIndex,
    query: str,
    limit: int,
    where: Where | None = None,
    mode: Mode | None = None,
) -> TimedHits:
    """Find the chunks that match the query best.

    Raises:
        InvalidInput: the query contains no word.
        ModelUnavailable: the embedding model cannot be used.
        StoreUnavailable: the store cannot be read.
    """
    await index.declare()
    resources, how = index.resources, choose_mode(mode, index.resources.settings)
    embedder = resources.embedder if index.embedder is resources.model else index.embedder
    return await modes.search(
        resources.collections, embedder, index.names.chunks, query, limit, where, how
    )
