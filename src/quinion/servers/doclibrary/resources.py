"""What can be read without a tool: the tour, pages and elements; and how their names complete."""

from collections.abc import Iterable

from mcp.server.mcpserver.exceptions import ResourceError
from mcp.types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from quinion.errors import InvalidInput, QuinionError
from quinion.servers.contract import ContractServer
from quinion.servers.doclibrary.library import Library
from quinion.servers.doclibrary.tour import SHOW, TOUR

MOST_COMPLETIONS = 100
"""What the protocol allows in one answer."""


def add_resources(server: ContractServer, library: Library) -> None:
    """Offer the library's resources, its prompt and their completions."""

    @server.resource(
        "tour://library",
        title="Tour of the library",
        description="How to search the library and show what was found.",
        mime_type="text/markdown",
    )
    def tour() -> str:
        return TOUR

    @server.resource(
        "library://{slug}/page/{number}",
        title="Page of a document",
        description="A page as an image; the first is 1.",
        mime_type="image/png",
    )
    async def page(slug: str, number: str) -> bytes:
        try:
            return await library.show_page(await library.document(slug), _parse(number))
        except QuinionError as error:
            raise ResourceError(error.message) from error

    @server.resource(
        "library://{slug}/element/{label}",
        title="Element of a document",
        description="A figure, table, equation, diagram or chart as an image, by its label.",
        mime_type="image/png",
    )
    async def element(slug: str, label: str) -> bytes:
        try:
            return await library.show_element(await library.element(slug, label, None))
        except QuinionError as error:
            raise ResourceError(error.message) from error

    @server.prompt(title="Show me a figure")
    def show_me(wanted: str) -> str:
        """Find a figure, table or equation in the library and show it."""
        return SHOW + wanted

    @server.completion()  # type: ignore[no-untyped-call,untyped-decorator]
    async def complete(
        _: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        slug = (context.arguments or {}).get("slug") if context else None
        try:
            names = await _names(library, argument.name, slug)
        except QuinionError:
            return None
        return _matching(names, argument.value)


def _parse(number: str) -> int:
    try:
        return int(number)
    except ValueError:
        raise InvalidInput(f"'{number}' is no number of a page. The first is 1.") from None


async def _names(library: Library, argument: str, slug: str | None) -> list[str]:
    if argument == "slug":
        return [document.slug for document in await library.documents()]
    if argument == "label" and slug:
        return [figure.element.label for figure in await library.elements(slug)]
    if argument == "number" and slug:
        return [str(n + 1) for n in range((await library.document(slug)).total_pages)]
    return []


def _matching(names: Iterable[str], begun: str) -> Completion:
    """Those that begin like this come first, then those that have it in them."""
    folded = begun.casefold()
    found = [name for name in dict.fromkeys(names) if folded in name.casefold()]
    found.sort(key=lambda name: not name.casefold().startswith(folded))
    return Completion(
        values=found[:MOST_COMPLETIONS],
        total=len(found),
        has_more=len(found) > MOST_COMPLETIONS,
    )
