"""Search of chunks by meaning, by words, or by both. Every server runs its queries here."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from quinion.concurrency import in_thread
from quinion.embed.base import Embedder
from quinion.lexical.word_query import parse_query
from quinion.model.record import Hit, Mode
from quinion.search.fusion import DEPTH, choose_weight, fuse
from quinion.search.merge import Merging, append, find_below, merge
from quinion.search.query import check_query
from quinion.search.references import find_references, promote
from quinion.search.verbatim import find_pattern, promote_verbatim
from quinion.store.base import Candidates, Rank, Vectors
from quinion.store.collections import Collections
from quinion.store.filters import Where, any_of

MERGED_DEPTHS = (4, 32)
"""Hits that are found for each merged result: the second number if the first gives too few."""


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
    merging: Merging | None = None,
) -> TimedHits:
    """Find the chunks of a collection that match the query best, merged if `merging` is given.

    In every mode the score of a hit is its similarity in meaning.

    Raises:
        InvalidInput: the query is empty.
        BadSetting: the collection was made with another embedding model.
        ModelUnavailable: the embedding model cannot be loaded or run.
        StoreUnavailable: the store cannot be read, or its keyword index is damaged or being built.
    """
    check_query(query)

    def find(count: int) -> TimedHits:
        started = time.perf_counter()
        vector = embedder.embed_query(query)
        embedded = time.perf_counter()
        if mode is Mode.SEMANTIC:
            hits = collections.search_vectors(collection, vector, count, where)
        else:
            hits = _find_words(collections, collection, query, vector, count, where, mode)
        return TimedHits(hits, embedded - started, time.perf_counter() - embedded)

    if merging is None:
        return await in_thread(find, limit)
    for depth in MERGED_DEPTHS:
        found = await in_thread(find, limit * depth)
        merged = merge(found.hits, merging, limit)
        if len(merged) == limit or len(found.hits) < limit * depth:
            break
    return replace(found, hits=await _add_below(collections, collection, merged, merging))


async def _add_below(
    collections: Collections, collection: str, hits: Sequence[Hit], merging: Merging
) -> list[Hit]:
    """Join hits of a few words to the chunks below them."""
    wanted = [find_below(hit, merging) for hit in hits]
    parts = [{"$and": [{key: one[key]} for key in one]} for one in wanted if one]
    below = await collections.get(collection, where=any_of(*parts)) if parts else []
    found = [
        next((r for r in below if one and one.items() <= r.metadata.items()), None)
        for one in wanted
    ]
    return [append(hit, one) if one else hit for hit, one in zip(hits, found, strict=True)]


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
    verbatim = find_pattern(query, words)
    wanted = max(limit, DEPTH) if references or verbatim else limit
    if mode is Mode.KEYWORD:
        rank: Rank = _by_words
        nearest = 0
    else:
        rank = partial(fuse, weight=choose_weight(words.content_words))
        nearest = max(limit, DEPTH)
    hits = collections.search_words(
        collection, words, vector, wanted, rank, nearest=nearest, where=where
    )
    if verbatim:
        hits = promote_verbatim(hits, verbatim)
    if references:
        hits = promote(hits, references, words)
    return hits[:limit]


def _by_words(candidates: Candidates) -> Vectors:
    return candidates.words
