"""Search of the library, for chunks and elements."""

from collections.abc import Sequence

from quinion.ingest.library.library import Library
from quinion.ingest.library.records import CONTENT
from quinion.model.record import Hit, Mode
from quinion.search import modes
from quinion.search.merge import Merging
from quinion.store.filters import all_of


async def search(
    library: Library,
    query: str,
    limit: int,
    slug: str | None,
    kinds: Sequence[str] | None,
    mode: Mode = Mode.HYBRID,
    *,
    merge: bool = False,
) -> list[Hit]:
    """Search for chunks and elements, in one document if `slug` is given.

    Raises:
        DocumentMissing: there is no document with this slug.
        InvalidInput: the query contains no word.
    """
    if slug is not None:
        await library.document(slug)
    where = all_of(
        {"document_slug": slug} if slug is not None else None,
        {"kind": {"$in": list(kinds)}} if kinds else None,
    )
    resources = library.resources
    found = await modes.search(
        resources.collections,
        resources.embedder,
        CONTENT,
        query,
        limit,
        where,
        mode,
        Merging() if merge else None,
    )
    return found.hits
