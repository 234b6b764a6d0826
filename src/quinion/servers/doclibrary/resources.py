"""MCP resources, prompt and completions: the tour, pages and elements."""

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import Field

from quinion.errors import InvalidInput
from quinion.ingest.library.library import Library
from quinion.ingest.library.records import CONTENT
from quinion.servers.base import ContractServer, QueryText
from quinion.servers.completions import complete_by
from quinion.servers.doclibrary.citations import PAGE, LibraryCitations
from quinion.servers.doclibrary.prompts import SHOW, TOUR
from quinion.servers.evidence.show import name_places, read_page


def add_resources(server: ContractServer, library: Library, citations: LibraryCitations) -> None:
    """Register the resources, the prompt and their completions."""

    @server.resource(
        "tour://library",
        title="Tour of the library",
        description="How to search the library and show what was found.",
        mime_type="text/markdown",
    )
    def tour() -> str:
        return TOUR

    @server.resource(
        PAGE,
        title="Page of a document",
        description="A page as an image, with the passage of a chunk or an element marked; the "
        "first is 1.",
        mime_type="image/png",
    )
    async def page(slug: str, number: str, chunk: str | None = None) -> bytes:
        if chunk is not None:
            return await read_page(citations, slug, number, chunk)
        return await library.show_page(await library.document(slug), _parse(number))

    @server.resource(
        "library://{slug}/element/{label}",
        title="Element of a document",
        description="A figure, table, equation, diagram or chart as an image, by its label.",
        mime_type="image/png",
    )
    async def element(slug: str, label: str) -> bytes:
        return await library.show_element(await library.element(slug, label, None))

    @server.prompt(title="Find and show a figure")
    def show_me(
        wanted: Annotated[QueryText, Field(description="The figure, table or equation to show.")],
    ) -> str:
        """Find a figure, table or equation in the library and show it."""
        return SHOW + wanted

    async def find_names(argument: str, chosen: Mapping[str, str]) -> Iterable[str]:
        slug = chosen.get("slug")
        if argument == "slug":
            return [document.slug for document in await library.documents()]
        if argument == "label" and slug:
            return [figure.element.label for figure in await library.elements(slug)]
        if argument == "chunk" and slug:
            where = {"document_slug": slug}
            chunks = await library.resources.collections.get(CONTENT, where=where)
            return name_places(chunks, argument)
        if argument == "number" and slug:
            return [str(n + 1) for n in range((await library.document(slug)).total_pages)]
        return []

    complete_by(server, find_names)


def _parse(number: str) -> int:
    try:
        return int(number)
    except ValueError:
        raise InvalidInput(f"'{number}' is no number of a page. The first is 1.") from None
