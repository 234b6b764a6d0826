"""Answers of the tools, with the fields that the contract prescribes.

Fields that are not in the contract are marked as additions. A strict client can ignore them.
The docstrings of the models are part of the output schemas that clients see.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from quinion.ingest.applications import KnownDocument, NewDocument, SkippedPicture
from quinion.ingest.foreign_text import describe_foreign
from quinion.model.document_type import DocumentType
from quinion.model.record import Hit, Record
from quinion.servers.base import Answer, FilterWarning
from quinion.servers.invisible_text import HiddenText, Warnings, warn


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
    warnings: Warnings = []


class AlreadyIngested(BaseModel):
    """The same content is there already for this application."""

    status: Literal["already_ingested"] = "already_ingested"
    document_id: str
    message: str = "Document has already been ingested with the same content"


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
        return AlreadyIngested(document_id=outcome.id)
    if isinstance(outcome, SkippedPicture):
        return Skipped(image_ratio=round(outcome.image_ratio, 3), total_pages=outcome.page_count)
    return Ingested(
        document_id=outcome.document.id,
        chunks_created=outcome.document.chunk_count,
        extraction_method=str(outcome.document.extraction_method),
        contains_drawings=outcome.document.contains_drawings,
        total_chars=len(outcome.text),
        total_words=len(outcome.text.split()),
        warnings=[
            *_warn_of_type(outcome.document.document_type),
            *warn(outcome.hidden),
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
    hidden_text: HiddenText = False


class Result(BaseModel):
    """One chunk that was found."""

    chunk_id: str
    text: str
    relevance_score: float
    metadata: ChunkMetadata

    @classmethod
    def of(cls, hit: Hit) -> "Result":
        """Convert a search hit of the engine."""
        return cls(
            chunk_id=hit.record.id,
            text=hit.record.text,
            relevance_score=hit.score,
            metadata=ChunkMetadata.model_validate(dict(hit.record.metadata)),
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


class DocumentText(BaseModel):
    """A document's text, put together from its chunks."""

    status: Literal["success"] = "success"
    document_id: str
    file_path: str
    document_type: str
    chunk_count: int
    text: str
    next_chunk: int | None = Field(
        default=None,
        description="Addition: when the text is larger than a client can take, the `from_chunk` "
        "of the call that goes on from here; null when this is the end.",
    )
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

    @classmethod
    def of(cls, record: Record) -> "Listed":
        """Convert a record of the registry."""
        return cls.model_validate({"document_id": record.id, **record.metadata})


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
