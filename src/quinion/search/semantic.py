"""Semantic search: query → vector → hits. Every server runs its queries here."""

import time
from dataclasses import dataclass

from quinion.concurrency import in_thread
from quinion.embed.base import Embedder
from quinion.model.record import Hit
from quinion.search.query import check_query
from quinion.store.collections import Collections
from quinion.store.filters import Where


@dataclass(frozen=True, slots=True)
class TimedHits:
    """Hits, best first, with the time for embedding the query and for the search."""

    hits: list[Hit]
    embedding_s: float
    search_s: float


async def search(
    collections: Collections,
    embedder: Embedder,
    collection: str,
    query: str,
    limit: int,
    where: Where | None = None,
) -> TimedHits:
    """Find the chunks of a collection that are closest in meaning to the query.

    Raises:
        InvalidInput: the query is empty.
        BadSetting: the collection was made with another embedding model.
        ModelUnavailable: the embedding model cannot be loaded or run.
        StoreUnavailable: the store cannot be read.
    """
    check_query(query)

    def find() -> TimedHits:
        started = time.perf_counter()
        vector = embedder.embed_query(query)
        embedded = time.perf_counter()
        hits = collections.search_vectors(collection, vector, limit, where)
        return TimedHits(hits, embedded - started, time.perf_counter() - embedded)

    return await in_thread(find)
