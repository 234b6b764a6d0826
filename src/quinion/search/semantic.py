"""Query → hits, by meaning: the query's vector against those of the chunks."""

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
) -> list[Hit]:
    """The chunks nearest in meaning to the query, best first. Blocking.

    Raises:
        InvalidInput: the query has no word in it.
        StoreUnavailable, ModelUnavailable: as they say.
    """
    if not query.strip():
        raise InvalidInput("The query is empty. Say in a few words what to look for.")
    return store.query(collection, embedder.embed_query(query), limit, where)
