"""The ten tools of the doclibrary contract, and the unlisted tools of `quinion library`.

Docstrings of the tools are their descriptions over MCP.
"""

import base64
from typing import Annotated, Any, Literal, get_args

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult
from pydantic import Field

from quinion.concurrency import in_thread
from quinion.errors import InvalidInput, QuinionError
from quinion.evidence.passages import Passage
from quinion.ingest.library.adder import DocumentAdder
from quinion.ingest.library.enricher import Enricher
from quinion.ingest.library.library import Library
from quinion.ingest.library.records import LibraryDocument
from quinion.model.element import ElementType
from quinion.model.record import Mode
from quinion.servers.base import Name, PathText, QueryText, make_tool, report_to
from quinion.servers.doclibrary.answers import (
    AddAnswer,
    Added,
    Details,
    DetailsAnswer,
    Elements,
    ElementsAnswer,
    EnrichAnswer,
    Enriched,
    Found,
    InfoAnswer,
    Listed,
    ListedPage,
    ListedPageAnswer,
    Listing,
    ListingAnswer,
    Matches,
    MatchesAnswer,
    NotDescribed,
    Pagination,
    Result,
    SearchAnswer,
    Status,
    StatusAnswer,
    image_result,
    text_result,
)
from quinion.servers.doclibrary.citations import LibraryCitations
from quinion.servers.doclibrary.search import search
from quinion.servers.evidence.citations import (
    Images,
    add_evidence,
    answer_with_images,
    ids_of,
)
from quinion.servers.invisible_text import NOTE, warn
from quinion.servers.response_size import how_many_fit
from quinion.servers.search_mode import Merge, SearchMode, choose_mode

MAX_RESULTS = 50
MAX_LISTED = 100


def _at_most(limit: int, description: str) -> Any:
    """Describe a count; a larger number is answered with as many as the limit."""
    return Field(ge=1, json_schema_extra={"maximum": limit}, description=description)


SortKey = Literal["title", "date_added", "page_count"]

Slug = Annotated[Name, Field(description="Document identifier, e.g. 'usgs_snyder'.")]
OnlySlug = Annotated[Name | None, Field(description="Only this document.")]
Label = Annotated[
    Name, Field(description="Label of the element, e.g. 'Table 5', 'Figure 3-1', '(8-3)'.")
]
OnlyPage = Annotated[
    int | None, Field(description="Page of the element, if several have the same label.")
]
Query = Annotated[QueryText, Field(description="What to look for, in natural language.")]


def make_tools(library: Library, citations: LibraryCitations) -> list[Tool]:
    """Make the tools of the contract."""

    async def find(
        query: str,
        limit: int,
        slug: str | None,
        kinds: list[str] | None,
        mode: Mode | None,
        *,
        merge: bool = False,
    ) -> tuple[Found, list[Passage]]:
        how = choose_mode(mode, library.resources.settings, Mode.HYBRID)
        wanted = min(limit, MAX_RESULTS + 1)
        hits = await search(library, query, wanted, slug, kinds, how, merge=merge)
        results = [Result.of(hit) for hit in hits[:MAX_RESULTS]]
        cited = [(one, ids_of(hit)) for one, hit in zip(results, hits, strict=False)]
        passages = await add_evidence(citations, cited)
        return Found(query=query, results=results, truncated=len(hits) > MAX_RESULTS), passages

    async def search_documents(
        query: Query,
        limit: Annotated[int, _at_most(MAX_RESULTS, "How many results at the most (1-50).")] = 10,
        document_slug: OnlySlug = None,
        mode: SearchMode = None,
        merge: Merge = False,
        images: Images = 0,
    ) -> Annotated[CallToolResult, SearchAnswer]:
        """Search everything in the library: text, figures, tables, equations.

        Meaning and words are compared, unless `mode` says otherwise.

        Each result names its document and page, and for an element its label: what
        `get_element_image` and `get_page_image` need. `evidence` has its place on the page; set
        `images` to look at it, or to show it to the user.
        """
        found, passages = await find(query, limit, document_slug, None, mode, merge=merge)
        return await answer_with_images(found, citations, passages, images, found.render("results"))

    async def search_visual_elements(
        query: Query,
        element_type: Annotated[
            Name | None, Field(description="Only: " + ", ".join(ElementType) + ".")
        ] = None,
        limit: Annotated[int, _at_most(MAX_RESULTS, "How many results at the most (1-50).")] = 10,
        document_slug: OnlySlug = None,
        mode: SearchMode = None,
        images: Images = 0,
    ) -> Annotated[CallToolResult, SearchAnswer]:
        """Search the figures, tables, equations, diagrams and charts of the library.

        Show what was found with `get_element_image`.
        """
        found, passages = await find(query, limit, document_slug, _kinds(element_type), mode)
        of_type = f" of type '{element_type}'" if element_type and not found.results else ""
        return await answer_with_images(
            found, citations, passages, images, found.render(f"visual elements{of_type}")
        )

    async def get_element_image(
        document_slug: Slug, element_label: Label, page_number: OnlyPage = None
    ) -> CallToolResult:
        """Show a figure, table, equation, diagram or chart as an image.

        For an equation whose LaTeX is known, the image is that formula, rendered.
        """
        figure = await library.element(document_slug, element_label, page_number)
        document = await library.document(document_slug)
        picture = await library.show_element(figure)
        details = Details.of(figure, document)
        return image_result(
            f"{details.element_type.upper()}: {details.element_label}\n"
            f"Document: {document.title} ({document.slug})\n"
            f"Page: {details.page_number}\n"
            + (f"Note: {NOTE}\n" if details.hidden_text else "")
            + "\n".join(dict.fromkeys((details.caption, details.description))),
            await in_thread(_encode, picture),
        )

    async def get_element_details(
        document_slug: Slug, element_label: Label, page_number: OnlyPage = None
    ) -> Annotated[CallToolResult, DetailsAnswer]:
        """Tell all about an element: type, label, description, context, and LaTeX of an equation.

        A table's rows come as Markdown where they can be read.
        """
        figure = await library.element(document_slug, element_label, page_number)
        details = Details.of(figure, await library.document(document_slug))
        return text_result(details, details.render())

    async def get_page_image(
        document_slug: Slug,
        page_number: Annotated[int, Field(description="Number of the page; the first is 1.")],
    ) -> CallToolResult:
        """Show a whole page as an image."""
        document = await library.document(document_slug)
        picture = await library.show_page(document, page_number)
        return image_result(
            f"Page {page_number} of {document.total_pages}\n"
            f"Document: {document.title} ({document.slug})",
            await in_thread(_encode, picture),
        )

    async def get_document_info(document_slug: Slug) -> InfoAnswer:
        """Tell about a document: title, pages, keywords, and how many elements of each type."""
        return InfoAnswer(Listed.of(await library.document(document_slug)))

    async def find_document(
        query: Annotated[QueryText, Field(description="Part of a slug, title or file name.")],
        limit: Annotated[int, _at_most(MAX_LISTED, "How many results at the most (1-100).")] = 5,
    ) -> MatchesAnswer:
        """Find documents by a part of their name: "snyder" finds `usgs_snyder`."""
        if not query.strip():
            raise InvalidInput("The query is empty. Give a part of a document's name.")
        found = await library.find(query)
        shown = list(map(Listed.of, found[: min(limit, MAX_LISTED)]))
        return MatchesAnswer(Matches(results=shown, total_count=len(found)))

    async def list_documents() -> Annotated[CallToolResult, ListingAnswer]:
        """List all documents of the library with their slugs and page counts."""
        documents = list(map(Listed.of, await library.documents()))
        shown = documents[: how_many_fit(documents)]
        listing = Listing(documents=shown, total_documents=len(documents))
        return text_result(listing, listing.render())

    async def list_documents_paginated(
        page: Annotated[int, Field(ge=1, description="Which part of the list.")] = 1,
        page_size: Annotated[int, _at_most(MAX_LISTED, "How many in one part (1-100).")] = 20,
        sort_by: Annotated[
            Name, Field(description="One of: " + ", ".join(get_args(SortKey)) + ".")
        ] = "title",
    ) -> ListedPageAnswer:
        """List the documents of the library in parts, sorted."""
        documents = _sort(await library.documents(), sort_by)
        page_size = min(page_size, MAX_LISTED)
        start = (page - 1) * page_size
        return ListedPageAnswer(
            ListedPage(
                documents=list(map(Listed.of, documents[start : start + page_size])),
                pagination=Pagination(
                    page=page,
                    page_size=page_size,
                    total_pages=-(-len(documents) // page_size),
                    total_documents=len(documents),
                ),
            )
        )

    async def get_library_status() -> Annotated[CallToolResult, StatusAnswer]:
        """Say whether the library is well: embedding model, database, configuration."""
        status = await _status(library)
        return text_result(status, status.render())

    return [
        make_tool(search_documents, title="Search the library", read_only=True),
        make_tool(search_visual_elements, title="Search figures and tables", read_only=True),
        make_tool(get_element_image, title="Show a figure or table", read_only=True),
        make_tool(get_element_details, title="Tell about a figure or table", read_only=True),
        make_tool(get_page_image, title="Show a page", read_only=True),
        make_tool(get_document_info, title="Tell about a document", read_only=True),
        make_tool(find_document, title="Find a document", read_only=True),
        make_tool(list_documents, title="List documents", read_only=True),
        make_tool(list_documents_paginated, title="List documents in parts", read_only=True),
        make_tool(get_library_status, title="Library status", read_only=True),
    ]


def make_cli_tools(library: Library) -> list[Tool]:
    """Make the tools of `quinion library`, which are not listed to clients."""
    adder = DocumentAdder(library)
    enricher = Enricher(library)

    async def add_document(file_path: PathText, ctx: Context) -> AddAnswer:
        """Add a PDF, or an office or web file, to the library."""
        document, is_new, hidden = await adder.add(file_path, report_to(ctx))
        status: Literal["added", "already_in_library"] = "added" if is_new else "already_in_library"
        return AddAnswer(Added(status=status, document=Listed.of(document), warnings=warn(hidden)))

    async def enrich_document(
        document_slug: Slug,
        ctx: Context,
        limit: Annotated[int | None, Field(ge=1)] = None,
    ) -> EnrichAnswer:
        """Have a vision model describe the elements of a document that are not described yet."""
        result = await enricher.enrich(document_slug, limit, report_to(ctx))
        refused = [
            NotDescribed(
                element_label=one.element.label, page_number=one.element.page, reason=reason
            )
            for one, reason in result.not_described
        ]
        return EnrichAnswer(
            Enriched(
                document_slug=document_slug,
                asked=result.asked,
                remembered=result.remembered,
                remaining=result.remaining,
                not_described=refused[: how_many_fit(refused)],
            )
        )

    async def list_elements(
        document_slug: Slug, from_element: Annotated[int, Field(ge=0)] = 0
    ) -> ElementsAnswer:
        """List the elements of a document, as many as fit, from this one on."""
        document = await library.document(document_slug)
        rest = (await library.elements(document_slug))[from_element:]
        details = [Details.of(figure, document) for figure in rest]
        count = how_many_fit(details)
        return ElementsAnswer(
            Elements(
                elements=details[:count],
                next_element=from_element + count if count < len(rest) else None,
            )
        )

    async def remove_document(document_slug: Slug) -> InfoAnswer:
        """Take a document out of the library."""
        return InfoAnswer(Listed.of(await library.remove(document_slug)))

    return [
        make_tool(add_document, title="Add a document", read_only=False),
        make_tool(enrich_document, title="Describe the elements of a document", read_only=False),
        make_tool(list_elements, title="List the elements of a document", read_only=True),
        make_tool(remove_document, title="Remove a document", read_only=False, destructive=True),
    ]


def _kinds(element_type: str | None) -> list[str]:
    return [*map(str, ElementType if element_type is None else [_check_type(element_type)])]


def _check_type(element_type: str) -> ElementType:
    try:
        return ElementType(element_type.strip().lower())
    except ValueError as error:
        raise InvalidInput(
            f"Unknown element type '{element_type}'. The types are: {', '.join(ElementType)}."
        ) from error


def _sort(documents: list[LibraryDocument], key: str) -> list[LibraryDocument]:
    """Sort documents, which come sorted by title: newest or longest first."""
    if key == "title":
        return documents
    if key == "date_added":
        return sorted(documents, key=lambda document: document.date_added, reverse=True)
    if key == "page_count":
        return sorted(documents, key=lambda document: document.total_pages, reverse=True)
    raise InvalidInput(f"Unknown sort key '{key}'. The keys are: {', '.join(get_args(SortKey))}.")


async def _status(library: Library) -> Status:
    engine = library.resources
    try:
        await in_thread(engine.model.load)
        embedding = f"OK ({await in_thread(lambda: engine.model.fingerprint)})"
    except QuinionError as error:
        embedding = f"NOT AVAILABLE - {error.message}"
    count: int | None = None
    try:
        count = len(await library.documents())
        database = f"OK ({count} documents)"
    except QuinionError as error:
        database = f"ERROR - {error.message}"
    config = f"environment variables; home {engine.settings.home}"
    return Status(embedding=embedding, database=database, config=config, documents=count)


def _encode(picture: bytes) -> str:
    return base64.b64encode(picture).decode()
