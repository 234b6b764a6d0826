"""Answers of the tools, with the fields that the contract prescribes.

Fields that are not in the contract are marked as additions. A strict client can ignore them.
The docstrings of the models are part of the output schemas that clients see.
"""

from operator import not_
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field

from quinion.ingest.applications.records import KnownDocument, NewDocument, SkippedPicture
from quinion.ingest.foreign_text import describe_foreign
from quinion.ingest.misread_pages import describe_misread
from quinion.ingest.page_quality import PageQuality
from quinion.model.document_type import DocumentType
from quinion.model.record import Hit, Metadata, Record
from quinion.servers.base import Answer, FilterWarning
from quinion.servers.document_store.records import title_of
from quinion.servers.evidence.citations import OptionalEvidence
from quinion.servers.invisible_text import HiddenText, Warnings, warn
from quinion.servers.search_mode import MergedChunks, OptionalMatch, OptionalMerged, WordMatch

Title = Annotated[
    str,
    Field(description="Addition: the document's title, or its file name without the extension."),
]
Replaces = Annotated[
    str | None,
    Field(
        exclude_if=not_,
        description="Addition, left out without one: id of an earlier version, from the same path "
        "and for the same application. With `replace` it is gone, without it both stay.",
    ),
]
Hint = Annotated[
    str | None,
    Field(exclude_if=not_, description="Addition, left out without one: what to do next."),
]


class Failed(BaseModel):
    """Something went wrong; nothing was changed."""

    status: Literal["error"] = "error"
    error_type: str
    message: str


class Ingested(BaseModel):
    """The document was read, indexed and stored."""

    status: Literal["success"] = "success"
    document_id: str
    chunks_created: int
    extraction_method: str
    contains_drawings: bool
    total_chars: int
    total_words: int
    replaces: Replaces = None
    warnings: Warnings = []


class AlreadyIngested(BaseModel):
    """The same content is there already for this application."""

    status: Literal["already_ingested"] = "already_ingested"
    document_id: str
    message: str = "Document has already been ingested with the same content"
    replaces: Replaces = None


class Skipped(BaseModel):
    """A drawing, photograph or rendering: no text worth indexing."""

    status: Literal["skipped"] = "skipped"
    reason: Literal["image_based"] = "image_based"
    image_ratio: float
    total_pages: int


def describe_outcome(
    outcome: NewDocument | KnownDocument | SkippedPicture,
) -> Ingested | AlreadyIngested | Skipped:
    """Build the answer for the outcome of an ingest."""
    if isinstance(outcome, KnownDocument):
        return AlreadyIngested(document_id=outcome.id, replaces=outcome.earlier)
    if isinstance(outcome, SkippedPicture):
        return Skipped(image_ratio=round(outcome.image_ratio, 3), total_pages=outcome.page_count)
    return Ingested(
        document_id=outcome.document.id,
        chunks_created=outcome.document.chunk_count,
        extraction_method=str(outcome.document.extraction_method),
        contains_drawings=outcome.document.contains_drawings,
        total_chars=outcome.character_count,
        total_words=outcome.word_count,
        replaces=outcome.earlier,
        warnings=[
            *_warn_of_type(outcome.document.document_type),
            *warn(outcome.hidden),
            *describe_misread(outcome.misread),
            *([describe_foreign([outcome.document.file_path.name])] if outcome.is_foreign else ()),
        ],
    )


def _warn_of_type(document_type: str) -> list[str]:
    if document_type in set(DocumentType):
        return []
    known = ", ".join(DocumentType)
    return [f"{document_type!r} is stored as it is, but is not a known type: {known}."]


class ChunkMetadata(BaseModel):
    """What is stored with a chunk."""

    application_ref: str
    document_id: str
    source_file: str
    document_type: str
    page_numbers: str
    chunk_index: int
    total_chunks: int
    extraction_method: str
    char_count: int
    word_count: int
    title: Title
    ingested_at: str = Field(
        description="Addition: when the document was ingested; tells versions of a file apart."
    )
    hidden_text: HiddenText = False


class Result(BaseModel):
    """One chunk that was found."""

    chunk_id: str
    text: str
    relevance_score: float
    metadata: ChunkMetadata
    match: OptionalMatch = None
    merged: OptionalMerged = None
    evidence: OptionalEvidence = None

    @classmethod
    def of(cls, hit: Hit, document: Metadata) -> "Result":
        """Convert a search hit of the engine, with the registry's metadata of its document.

        Another program may have stored chunks without registering their document.
        """
        chunk = hit.record.metadata
        return cls(
            chunk_id=hit.record.id,
            text=hit.record.text,
            relevance_score=hit.score,
            metadata=ChunkMetadata.model_validate(
                {
                    **chunk,
                    "title": title_of(document or {"file_path": chunk["source_file"]}),
                    "ingested_at": document.get("ingested_at", ""),
                }
            ),
            match=WordMatch.of(hit),
            merged=MergedChunks.of(hit),
        )


class Found(BaseModel):
    """What a search found, best first."""

    status: Literal["success"] = "success"
    query: str
    results_count: int
    results: list[Result]
    truncated: bool = Field(
        default=False,
        description="Addition: true when the best results were kept and the rest left out, "
        "because together they would be larger than a client can take.",
    )
    warning: FilterWarning = ""
    hint: Hint = None


class DocumentText(BaseModel):
    """A document's text, put together from its chunks."""

    status: Literal["success"] = "success"
    document_id: str
    file_path: str
    document_type: str
    chunk_count: int
    title: Title
    text: str
    next_chunk: int | None = Field(
        default=None,
        description="Addition: when the text is larger than a client can take, the `from_chunk` "
        "of the call that goes on from here; null when this is the end.",
    )
    hint: Hint = None
    hidden_text: HiddenText = False


class Listed(BaseModel):
    """One ingested document."""

    document_id: str
    file_path: str
    document_type: str
    chunk_count: int
    ingested_at: str
    extraction_method: str
    contains_drawings: bool
    title: Title

    @classmethod
    def of(cls, record: Record) -> Self:
        """Convert a record of the registry."""
        title = title_of(record.metadata)
        return cls.model_validate({"document_id": record.id, **record.metadata, "title": title})


class Listing(BaseModel):
    """The documents of an application."""

    status: Literal["success"] = "success"
    application_ref: str
    document_count: int
    documents: list[Listed]
    next_document: int | None = Field(
        default=None,
        description="Addition: when the list is larger than a client can take, the "
        "`from_document` of the call that goes on from here; null when this is the end.",
    )
    hint: Hint = None


class Stored(Listed):
    """A document with its application, the ids of other versions from the same path, and the pages
    that a person should check; `page_count` is 0 if it was stored before that was recorded."""

    application_ref: str
    file_hash: str
    versions: list[str] = []
    page_count: int = 0
    empty_pages: list[int] = []
    doubtful_pages: list[int] = []
    hidden_pages: list[int] = []

    @classmethod
    def of(cls, record: Record) -> Self:
        """Convert a record of the registry."""
        quality = PageQuality.from_metadata(record.metadata)
        pages = {
            "empty_pages": list(quality.empty),
            "doubtful_pages": list(quality.doubtful),
            "hidden_pages": list(quality.hidden),
        }
        title = title_of(record.metadata)
        return cls.model_validate(
            {"document_id": record.id, **record.metadata, "title": title, **pages}
        )


class StoredDocuments(BaseModel):
    """The documents of one application or of all."""

    document_count: int
    documents: list[Stored]
    next_document: int | None = None


class StoredPage(BaseModel):
    """A part of the stored documents, newest first, and whether there are more."""

    documents: list[Stored]
    has_more: bool


class StoredChunk(BaseModel):
    """A chunk of a document: its id, its place and whether its pages have hidden text."""

    chunk_id: str
    chunk_index: int
    pages: list[int]
    char_count: int
    hidden_text: HiddenText = False


class StoredChunks(BaseModel):
    """The chunks of a document."""

    chunks: list[StoredChunk]


class Deleted(BaseModel):
    """The document and all its chunks are deleted; its file is not."""

    status: Literal["success"] = "success"
    document_id: str
    chunks_removed: int


class Application(BaseModel):
    """An application and how many documents it has."""

    application_ref: str
    document_count: int


class Applications(BaseModel):
    """All applications that have a document; a resource, for the contract has no such tool."""

    application_count: int
    applications: list[Application]
    truncated: bool = False


IngestAnswer = Answer[
    Annotated[Ingested | AlreadyIngested | Skipped | Failed, Field(discriminator="status")]
]
SearchAnswer = Answer[Annotated[Found | Failed, Field(discriminator="status")]]
TextAnswer = Answer[Annotated[DocumentText | Failed, Field(discriminator="status")]]
ListAnswer = Answer[Annotated[Listing | Failed, Field(discriminator="status")]]
DeleteAnswer = Answer[Annotated[Deleted | Failed, Field(discriminator="status")]]
