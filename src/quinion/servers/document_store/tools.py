"""The four tools of the Document Store.

Their docstrings and parameter descriptions are what clients see.
"""

from typing import Annotated

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult
from pydantic import Field

from quinion.engine import Engine
from quinion.ingest.applications.ingestion import ApplicationIngestion
from quinion.model.document_type import DocumentType
from quinion.search import modes
from quinion.servers.base import (
    Name,
    PathText,
    QueryText,
    make_tool,
    report_to,
)
from quinion.servers.document_store.answers import (
    DeleteAnswer,
    Deleted,
    Found,
    IngestAnswer,
    ListAnswer,
    Result,
    SearchAnswer,
    Stored,
    StoredChunks,
    StoredDocuments,
    StoredPage,
    TextAnswer,
    describe_outcome,
)
from quinion.servers.document_store.citations import DocumentCitations
from quinion.servers.document_store.document_text import (
    MAX_CHARACTERS,
    Selection,
    parse_pages,
    read_text,
)
from quinion.servers.document_store.listing import (
    check_ref,
    check_type,
    documents_of,
    hint_at_known,
    list_chunks,
    list_documents,
    list_stored,
    page_stored,
    show_stored,
    warn_of_types,
)
from quinion.servers.document_store.records import CHUNKS, MERGING
from quinion.servers.evidence.citations import (
    Images,
    add_evidence,
    answer_with_images,
    ids_of,
)
from quinion.servers.response_size import how_many_fit
from quinion.servers.search_mode import Merge, SearchMode, choose_mode
from quinion.store.filters import all_of

MAX_RESULTS = 1000
MAX_TYPES = 100
MAX_PAGE = 200

ApplicationRef = Annotated[
    Name, Field(description='Planning application reference, e.g. "25/01178/REM".')
]


def make_tools(
    engine: Engine, ingestion: ApplicationIngestion, citations: DocumentCitations
) -> list[Tool]:
    """Create the tools on this engine."""

    async def ingest_document(
        file_path: Annotated[
            PathText, Field(description="Absolute path to the document file on disk.")
        ],
        application_ref: ApplicationRef,
        ctx: Context,
        document_type: Annotated[
            Name | None,
            Field(
                description="Document type: "
                + ", ".join(DocumentType)
                + ", or one of your own. Found from the file's name and content if omitted."
            ),
        ] = None,
        replace: Annotated[
            bool,
            Field(
                description="Put a changed file in the place of its earlier version, which "
                "`replaces` names. Without it, both stay."
            ),
        ] = False,
    ) -> IngestAnswer:
        """Ingest a planning document: a PDF or an image (PNG, JPEG, TIFF, BMP) on disk.

        Text is read (scanned pages by OCR), split into chunks, embedded and stored, so that it
        can be searched and read. The same content for the same application is taken once.
        Drawings, photographs and renderings are skipped.
        """
        outcome = await ingestion.ingest(
            file_path,
            check_ref(application_ref),
            check_type(document_type) if document_type is not None else None,
            report_to(ctx),
            replace=replace,
        )
        return IngestAnswer(describe_outcome(outcome))

    async def search_application_docs(
        query: Annotated[QueryText, Field(description="What to look for, in natural language.")],
        application_ref: Annotated[
            Name | None, Field(description="Only documents of this application.")
        ] = None,
        document_types: Annotated[
            list[Name] | None,
            Field(
                max_length=MAX_TYPES,
                description="Only documents of these types: " + ", ".join(DocumentType) + ".",
            ),
        ] = None,
        max_results: Annotated[
            int,
            Field(ge=1, description=f"How many results at the most; never over {MAX_RESULTS:,}."),
        ] = 10,
        mode: SearchMode = None,
        merge: Merge = False,
        images: Images = 0,
    ) -> Annotated[CallToolResult, SearchAnswer]:
        """Search the chunks of ingested documents by meaning, best match first.

        Set `mode` to hybrid for names, numbers, codes, references and quotations: it compares
        the words, too.

        Each result has its text, a relevance score from 0 to 1, and in its metadata the source
        file and the page numbers to cite, and in `evidence` its place on the page. Set `images`
        when the look of a passage matters (tables, plans, stamps), or to show it to the user.
        """
        where = all_of(
            {"application_ref": check_ref(application_ref)}
            if application_ref is not None
            else None,
            {"document_type": {"$in": [check_type(kind) for kind in document_types]}}
            if document_types
            else None,
        )
        found = await modes.search(
            engine.collections,
            engine.embedder,
            CHUNKS,
            query,
            min(max_results, MAX_RESULTS + 1),
            where,
            choose_mode(mode, engine.settings),
            MERGING if merge else None,
        )
        documents = await documents_of(engine, found.hits)
        results = [
            Result.of(hit, documents.get(str(hit.record.metadata["document_id"]), {}))
            for hit in found.hits
        ]
        ids = map(ids_of, found.hits)
        passages = await add_evidence(citations, list(zip(results, ids, strict=True)))
        fitting = results[: min(how_many_fit(results), MAX_RESULTS)]
        answer = SearchAnswer(
            Found(
                query=query,
                results_count=len(fitting),
                results=fitting,
                truncated=len(fitting) < len(results),
                warning=await warn_of_types(engine, document_types or []),
                hint=await hint_at_known(engine, check_ref(application_ref))
                if application_ref is not None and not results
                else None,
            )
        )
        return await answer_with_images(answer, citations, passages, images)

    async def get_document_text(
        document_id: Annotated[Name, Field(description='Document ID, e.g. "25_01178_REM_a1b2c3".')],
        without_overlap: Annotated[
            bool,
            Field(
                description="Return each character once, instead of joining chunks that overlap."
            ),
        ] = False,
        from_chunk: Annotated[
            int, Field(ge=0, description="Go on from this chunk: `next_chunk` of the last answer.")
        ] = 0,
        pages: Annotated[
            Name | None,
            Field(description='Only these pages: one, "14", or a range, "3-7" or "3-".'),
        ] = None,
        page_marks: Annotated[
            bool, Field(description="Put a line such as `[page 14]` before each page's text.")
        ] = False,
        max_characters: Annotated[
            int,
            Field(ge=1, description="Largest size of one part; it ends at the end of a chunk."),
        ] = MAX_CHARACTERS,
    ) -> TextAnswer:
        """Read the full text of an ingested document, or of some of its pages.

        A very long text comes in parts: when `next_chunk` is not null, call again with it as
        `from_chunk`. With `pages` or `page_marks`, each character is returned once.
        """
        selection = Selection(
            without_overlap, from_chunk, parse_pages(pages), page_marks, max_characters
        )
        return TextAnswer(await read_text(engine, document_id, selection))

    async def list_ingested_documents(
        application_ref: ApplicationRef,
        from_document: Annotated[
            int,
            Field(ge=0, description="Go on from here: `next_document` of the last answer."),
        ] = 0,
    ) -> ListAnswer:
        """List the documents that have been ingested for a planning application.

        A very long list comes in parts: when `next_document` is not null, call again with it as
        `from_document`. `document_count` is always that of the whole list.
        """
        return ListAnswer(await list_documents(engine, application_ref, from_document))

    return [
        make_tool(ingest_document, title="Ingest a document", read_only=False),
        make_tool(search_application_docs, title="Search application documents", read_only=True),
        make_tool(get_document_text, title="Read a document", read_only=True),
        make_tool(list_ingested_documents, title="List ingested documents", read_only=True),
    ]


def make_cli_tools(engine: Engine, ingestion: ApplicationIngestion) -> list[Tool]:
    """Create the tools for `quinion document` and the console, which are hidden from clients."""

    async def list_stored_documents(
        application_ref: Name | None = None, from_document: int = 0
    ) -> StoredDocuments:
        """List the documents of one application or of all."""
        return await list_stored(engine, application_ref, from_document)

    async def page_documents(
        application_ref: Name | None = None,
        document_type: Name | None = None,
        file_path: PathText | None = None,
        offset: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 50,
    ) -> StoredPage:
        """List a part of the documents, newest first."""
        return await page_stored(engine, application_ref, document_type, file_path, offset, limit)

    async def show_chunks(document_id: Name) -> StoredChunks:
        """List the chunks of a document with their pages."""
        return await list_chunks(engine, document_id)

    async def show_document(document_id: Name) -> Stored:
        """Describe one document."""
        return await show_stored(engine, document_id)

    async def remove_document(document_id: Name) -> DeleteAnswer:
        """Delete a document and all its chunks; its file stays."""
        removed = await ingestion.delete(document_id)
        return DeleteAnswer(Deleted(document_id=document_id, chunks_removed=removed))

    async def reingest_document(
        document_id: Name, ctx: Context, document_type: Name | None = None
    ) -> IngestAnswer:
        """Read the file of a document again and replace the stored text."""
        kind = check_type(document_type) if document_type is not None else None
        outcome = await ingestion.ingest_again(document_id, kind, report_to(ctx))
        return IngestAnswer(describe_outcome(outcome))

    return [
        make_tool(list_stored_documents, title="List stored documents", read_only=True),
        make_tool(page_documents, title="List a part of the documents", read_only=True),
        make_tool(show_chunks, title="Show the chunks of a document", read_only=True),
        make_tool(show_document, title="Show a document", read_only=True),
        make_tool(remove_document, title="Delete a document", read_only=False, destructive=True),
        make_tool(reingest_document, title="Ingest a document again", read_only=False),
    ]
