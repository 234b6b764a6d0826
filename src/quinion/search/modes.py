"""Search of chunks by meaning, by words, or by both. Every server runs its queries here."""

import time
from dataclasses import dataclass
from functools import partial

from quinion.concurrency import in_thread
from quinion.embed.base import Embedder
from quinion.lexical.word_query import parse_query
from quinion.model.record import Hit, Mode
from quinion.search.fusion import DEPTH, choose_weight, fuse
from quinion.search.query import check_query
from quinion.search.references import find_references, promote
from quinion.store.base import Candidates, Rank, Vectors
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
    mode: Mode = Mode.SEMANTIC,
) -> TimedHits:
    """Find the chunks of a collection that match the query best.

    In every mode the score of a hit is its similarity in meaning.

    Raises:
        InvalidInput: the query is empty.
        BadSetting: the collection was made with another embedding model.
        ModelUnavailable: the embedding model cannot be loaded or run.
        StoreUnavailable: the store cannot be read, or its keyword index is damaged or being built.
    """
    check_query(query)

    def find() -> TimedHits:
        started = time.perf_counter()
        vector = embedder.embed_query(query)
        embedded = time.perf_counter()
        if mode is Mode.SEMANTIC:
            hits = collections.search_vectors(collection, vector, limit, where)
        else:
            hits = _find_words(collections, collection, query, vector, limit, where, mode)
        return TimedHits(hits, embedded - started, time.perf_counter() - embedded)

    return await in_thread(find)


def _find_words(
    collections: Collections,
    collection: str,
    query: str,
    vector: Vectors,
    limit: int,
    where: Where | None,
    mode: Mode,
) -> list[Hit]:
    words, references = parse_query(query), find_references(query)
    wanted = max(limit, DEPTH) if references else limit
    if mode is Mode.KEYWORD:
        rank: Rank = _by_words
        nearest = 0
    else:
        rank = partial(fuse, weight=choose_weight(words.content_words))
        nearest = max(limit, DEPTH)
    hits = collections.search_words(
        collection, words, vector, wanted, rank, nearest=nearest, where=where
    )
    return promote(hits, references, words)[:limit] if references else hits


def _by_words(candidates: Candidates) -> Vectors:
    return candidates.words
