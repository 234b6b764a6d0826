"""Search of the index by meaning, by words, or by both."""

from collections.abc import Sequence
from typing import Any

from mcp.types import CallToolResult

from quinion.evidence.passages import Passage
from quinion.ingest.folders.folder_index import FolderIndex
from quinion.model.record import Mode
from quinion.search import modes
from quinion.search.budget import select
from quinion.search.merge import Merging
from quinion.search.modes import TimedHits
from quinion.servers.docvec.answers import (
    BudgetAnswer,
    Done,
    Found,
    FoundWithinBudget,
    Result,
    SearchAnswer,
)
from quinion.servers.docvec.citations import FileCitations
from quinion.servers.docvec.failures import BudgetExceeded
from quinion.servers.docvec.filters import read_filters
from quinion.servers.evidence.citations import add_evidence, answer_with_images
from quinion.servers.response_size import how_many_fit
from quinion.servers.search_mode import choose_mode
from quinion.store.filters import Where

MAX_RESULTS = 50
MERGING = Merging(document=("source_file", "doc_hash"))
"""Chunks of a file do not overlap."""


async def search_chunks(
    index: FolderIndex,
    query: str,
    limit: int,
    filters: dict[str, Any] | None,
    mode: Mode | None,
    *,
    merge: bool,
) -> Found:
    """Answer a search, with filters if there are any."""
    wanted = min(limit, MAX_RESULTS + 1)
    found = await _find_chunks(index, query, wanted, read_filters(filters), mode, merge=merge)
    results = [Result.of(hit) for hit in found.hits[:MAX_RESULTS]]
    fitting = results[: how_many_fit(results)]
    return Found(
        results=fitting,
        total_tokens=_tokens(fitting),
        query_embedding_time=found.embedding_s,
        search_time=found.search_s,
        results_omitted=len(results) - len(fitting),
        truncated=len(found.hits) > MAX_RESULTS,
    )


async def search_within(
    index: FolderIndex, query: str, budget: int, mode: Mode | None, *, merge: bool
) -> FoundWithinBudget:
    """Answer a search with the best results that fit into a number of tokens.

    Raises:
        BudgetExceeded: none fits.
    """
    found = await _find_chunks(index, query, MAX_RESULTS, mode=mode, merge=merge)
    sizes = [int(hit.record.metadata["token_count"]) for hit in found.hits]
    selection = select(found.hits, sizes, budget)
    if sizes and not selection.hits:
        raise BudgetExceeded(
            f"Token budget too small: the smallest result has {min(sizes)} tokens, and "
            f"max_tokens is {budget}. Increase max_tokens."
        )
    results = [Result.of(hit) for hit in selection.hits]
    fitting = results[: how_many_fit(results)]
    return FoundWithinBudget(
        results=fitting,
        total_tokens=_tokens(fitting),
        budget_utilized=round(_tokens(fitting) / budget, 2),
        truncated=len(selection.hits) < len(found.hits),
        truncated_count=len(found.hits) - len(selection.hits),
        query_embedding_time=found.embedding_s,
        search_time=found.search_s,
        results_omitted=len(results) - len(fitting),
    )


def _tokens(results: Sequence[Result]) -> int:
    return sum(result.token_count for result in results)


async def _find_chunks(
    index: FolderIndex,
    query: str,
    limit: int,
    where: Where | None = None,
    mode: Mode | None = None,
    *,
    merge: bool = False,
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
        resources.collections,
        embedder,
        index.names.chunks,
        query,
        limit,
        where,
        how,
        MERGING if merge else None,
    )


async def add_citations(
    answer: SearchAnswer | BudgetAnswer, citations: FileCitations, images: int
) -> CallToolResult:
    """Add the evidence to the results of an answer, and images of it."""
    passages: list[Passage] = []
    if isinstance(answer.root, Done):
        passages = await add_evidence(
            citations,
            [
                (one, one.merged.chunk_ids if one.merged else [one.chunk_id])
                for one in answer.root.data.results
            ],
        )
    return await answer_with_images(answer, citations, passages, images)
