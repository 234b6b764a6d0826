"""Query → hits, by meaning: the query's vector against those of the chunks."""

from collections.abc import Callable

from quinion.embed.port import Embedder
from quinion.errors import InvalidInput
from quinion.model.record import Hit
from quinion.store.chroma import VectorStore
from quinion.store.filters import Where


def search(
    store: VectorStore,
    embedder: Embedder,
    collection: str,
    query: str,
    limit: int,
    where: Where | None = None,
    may_match: Callable[[str], bool] | None = None,
) -> list[Hit]:
    """The chunks nearest in meaning to the query, best first. Blocking.

    `may_match` tells from an id that a chunk cannot pass the filter, which saves its fetching.

    Raises:
        InvalidInput: the query has no word in it.
        StoreUnavailable, ModelUnavailable: as they say.
    """
    check_query(query)
    return store.query(collection, embedder.embed_query(query), limit, where, may_match)


def check_query(query: str) -> None:
    """Refuse a query without a word in it.

    Raises:
        InvalidInput: it is empty or only white space.
    """
    if not query.strip():
        raise InvalidInput("The query is empty. Say in a few words what to look for.")
