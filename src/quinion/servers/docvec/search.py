"""Semantic search of the index."""

from quinion.ingest.folders.folder_index import FolderIndex
from quinion.search import semantic
from quinion.search.semantic import TimedHits
from quinion.store.filters import Where


async def find_chunks(
    index: FolderIndex, query: str, limit: int, where: Where | None = None
) -> TimedHits:
    """Find the chunks closest in meaning to the query.

    Raises:
        InvalidInput: the query contains no word.
        ModelUnavailable: the embedding model cannot be used.
        StoreUnavailable: the store cannot be read.
    """
    await index.declare()
    resources = index.resources
    embedder = resources.embedder if index.embedder is resources.model else index.embedder
    return await semantic.search(
        resources.collections, embedder, index.names.chunks, query, limit, where
    )
