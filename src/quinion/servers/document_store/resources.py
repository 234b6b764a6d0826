"""Resources for applications and documents, the prompt, and completions."""

from collections.abc import Iterable, Mapping
from typing import Annotated

from mcp.types import Resource
from pydantic import Field

from quinion.engine import Engine
from quinion.errors import DocumentMissing
from quinion.model.document_type import DocumentType
from quinion.servers.base import ContractServer, Name
from quinion.servers.completions import complete_by
from quinion.servers.document_store import prompts
from quinion.servers.document_store.answers import Applications, Listed, Listing
from quinion.servers.document_store.citations import PAGE, DocumentCitations
from quinion.servers.document_store.document_text import Selection, read_text
from quinion.servers.document_store.listing import check_type, list_applications, list_documents
from quinion.servers.document_store.records import CHUNKS, REGISTRY
from quinion.servers.evidence.show import name_places, read_page
from quinion.servers.invisible_text import note
from quinion.servers.resources import MAX_LISTED, add_continuation, fill_uri

APPLICATIONS = "documents://applications"
APPLICATION = "documents://application/{+application_ref}{?document_type,from_document}"
DOCUMENT = "documents://document/{document_id}{?from_chunk}"

Offset = Annotated[int, Field(ge=0)]


def add_resources(server: ContractServer, engine: Engine, citations: DocumentCitations) -> None:
    """Register the resources, the prompt and their completions."""

    @server.resource(
        APPLICATIONS,
        title="Applications",
        description="All applications that have ingested documents, and how many each has.",
        mime_type="application/json",
    )
    async def applications() -> Applications:
        return await list_applications(engine)

    @server.resource(
        APPLICATION,
        title="Documents of an application",
        description="What `list_ingested_documents` says of an application, of all its documents "
        "or of those of one type.",
        mime_type="application/json",
    )
    async def application(
        application_ref: str, document_type: str | None = None, from_document: Offset = 0
    ) -> Listing:
        kind = check_type(document_type) if document_type is not None else None
        listing = await list_documents(engine, application_ref, from_document, kind)
        if not listing.document_count:
            raise DocumentMissing(
                f"There is no {kind or 'document'} of {listing.application_ref}. "
                f"{APPLICATIONS} lists the applications that have documents; "
                "ingest_document adds one."
            )
        return listing

    @server.resource(
        DOCUMENT,
        title="Text of a document",
        description="The full text of a document, each character once. When it is too long for "
        "one answer, the last line says where it goes on.",
        mime_type="text/plain",
    )
    async def document(document_id: str, from_chunk: Offset = 0) -> str:
        try:
            part = await read_text(engine, document_id, Selection(True, from_chunk))
        except DocumentMissing as error:
            hint = "list_ingested_documents has the ids of an application's documents"
            raise DocumentMissing(f"{error.message}; {hint}.") from error
        following = None
        if part.next_chunk is not None:
            following = fill_uri(DOCUMENT, document_id=document_id, from_chunk=part.next_chunk)
        return add_continuation(note(part.text, part.hidden_text), following)

    @server.resource(
        PAGE,
        title="Page of a document",
        description="A page as an image, with the passage of a chunk marked.",
        mime_type="image/png",
    )
    async def page(document_id: str, number: str, chunk: str | None = None) -> bytes:
        return await read_page(citations, document_id, number, chunk)

    _add_prompt(server)
    _add_names(server, engine)


def _add_prompt(server: ContractServer) -> None:
    @server.prompt(title="Review an application against policy")
    def review_application(
        application_ref: Annotated[
            Name, Field(description='Planning application reference, e.g. "25/01178/REM".')
        ],
        validation_date: Annotated[
            Name, Field(description="The day on which it was validated, YYYY-MM-DD.")
        ],
    ) -> str:
        """Review an application against the policies in force on its validation date."""
        return prompts.review(application_ref, validation_date)


def _add_names(server: ContractServer, engine: Engine) -> None:
    """List the newest documents, and complete references, ids and types."""

    async def newest() -> list[Resource]:
        documents = [Listed.of(record) for record in await engine.collections.get(REGISTRY)]
        documents.sort(key=lambda document: document.ingested_at, reverse=True)
        return [_to_resource(document) for document in documents[:MAX_LISTED]]

    async def find_names(argument: str, chosen: Mapping[str, str]) -> Iterable[str]:
        if argument == "document_type":
            return list(DocumentType)
        if argument == "document_id":
            return sorted(record.id for record in await engine.collections.get(REGISTRY))
        if argument in {"number", "chunk"} and (document_id := chosen.get("document_id")):
            chunks = await engine.collections.get(CHUNKS, where={"document_id": document_id})
            return name_places(chunks, argument)
        if argument == "application_ref":
            records = await engine.collections.get(REGISTRY)
            return sorted({str(record.metadata["application_ref"]) for record in records})
        return []

    server.add_listing(newest)
    complete_by(server, find_names)


def _to_resource(document: Listed) -> Resource:
    return Resource(
        uri=fill_uri(DOCUMENT, document_id=document.document_id),
        name=document.document_id,
        title=document.file_path.rpartition("/")[2],
        description=f"{document.document_type}, ingested {document.ingested_at}",
        mime_type="text/plain",
    )
