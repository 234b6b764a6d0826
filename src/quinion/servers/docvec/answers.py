"""Response models of the contract, field for field.

Every response has the same envelope: `success`, `data` and `error`, and on failure `error_code`
and `details`. Fields that are not in the contract are marked as additions; a strict client can
ignore them. Docstrings and field descriptions of the models are part of the published schemas.
"""

from operator import not_
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, Field, JsonValue

from quinion.ingest.folders.file_states import FileState
from quinion.model.page import PAGE_SPANS
from quinion.model.record import Hit, Scalar
from quinion.servers.base import Answer, Truncated
from quinion.servers.evidence.citations import OptionalEvidence
from quinion.servers.invisible_text import Warnings
from quinion.servers.search_mode import MergedChunks, OptionalMatch, OptionalMerged, WordMatch

T = TypeVar("T")


class Done(BaseModel, Generic[T]):
    """It was done."""

    success: Literal[True] = True
    data: T
    error: None = None


class Failed(BaseModel):
    """Something went wrong."""

    success: Literal[False] = False
    data: None = None
    error: str
    error_code: str
    details: dict[str, JsonValue] = {}


class IndexedFile(BaseModel):
    """A file whose chunks are in the index."""

    doc_hash: str = Field(description="SHA-256 of the file's content.")
    chunks_created: int = Field(description="0 when this content was indexed already.")
    chunk_ids: list[str]
    total_tokens: int
    file_format: str
    duplicate_of: str | None = Field(
        default=None,
        description="Addition: the path under which this content is indexed already.",
    )
    chunk_ids_omitted: int = Field(
        default=0, description="Addition: how many ids were left out because they do not fit."
    )
    warnings: Warnings = []


class FileError(BaseModel):
    """A file of a folder that was not indexed."""

    file_path: str
    error: str
    error_code: str = Field(description="Addition.")
    reason: str = Field(default="", description="Addition: what is wrong, and what to do.")


class SkippedFile(BaseModel):
    """A file of a folder that has nothing to index."""

    file_path: str
    reason: str


class IndexedDirectory(BaseModel):
    """What became of the files of a folder."""

    new_documents: int = Field(description="Files indexed, those that had changed among them.")
    duplicates_skipped: int = Field(description="Files whose content was indexed already.")
    errors: list[FileError]
    total_chunks: int
    chunk_ids: dict[str, list[str]]
    updated_documents: int = Field(
        default=0, description="Addition: new documents that replaced what their path had before."
    )
    moved_documents: int = Field(
        default=0, description="Addition: skipped files whose old path is gone; the index follows."
    )
    errors_omitted: int = Field(
        default=0, description="Addition: how many errors were left out because they do not fit."
    )
    chunk_ids_omitted: int = Field(
        default=0, description="Addition: how many files were left out of `chunk_ids` likewise."
    )
    skipped_files: Annotated[
        list[SkippedFile],
        Field(exclude_if=not_, description="Addition, left out where empty: files without text."),
    ] = []
    warnings: Warnings = []


class Result(BaseModel):
    """One chunk that was found."""

    chunk_id: str
    content: str
    score: float = Field(description="0 to 1, higher is better.")
    metadata: dict[str, Scalar]
    token_count: int
    match: OptionalMatch = None
    merged: OptionalMerged = None
    evidence: OptionalEvidence = None

    @classmethod
    def of(cls, hit: Hit) -> "Result":
        """Convert a hit of the engine."""
        return cls(
            chunk_id=hit.record.id,
            content=hit.record.text,
            score=hit.score,
            metadata={k: v for k, v in hit.record.metadata.items() if k != PAGE_SPANS},
            token_count=int(hit.record.metadata["token_count"]),
            match=WordMatch.of(hit),
            merged=MergedChunks.of(hit),
        )


class Found(BaseModel):
    """What a search found, best first."""

    results: list[Result]
    total_tokens: int
    query_embedding_time: float = Field(description="Seconds.")
    search_time: float = Field(description="Seconds.")
    results_omitted: int = Field(
        default=0, description="Addition: how many results were left out because they do not fit."
    )
    truncated: Truncated = False


class FoundWithinBudget(BaseModel):
    """The best results that fit into the budget."""

    results: list[Result]
    total_tokens: int
    budget_utilized: float
    truncated: bool = Field(description="Whether results were left out to stay within the budget.")
    truncated_count: int
    query_embedding_time: float = Field(description="Addition: seconds.")
    search_time: float = Field(description="Addition: seconds.")
    results_omitted: int = Field(
        default=0, description="Addition: how many results were left out because they do not fit."
    )


class DeletedChunks(BaseModel):
    """Chunks that were deleted; ids that are not in the index are not among them."""

    deleted_count: int
    deleted_ids: list[str]


class DeletedFile(BaseModel):
    """A file that is no longer in the index."""

    deleted_count: int
    source_file: str


class Cleared(BaseModel):
    """An empty index."""

    deleted_count: int


class Stats(BaseModel):
    """What is in the index."""

    total_chunks: int
    unique_files: int
    source_files: list[str]
    vanished_files: list[str] = Field(
        default=[],
        description="Addition: those of `source_files` that are no longer on the disk.",
    )
    next_file: int | None = Field(
        default=None,
        description="Addition: when the list is larger than a client can take, the `from_file` of "
        "the call that goes on from here; null when this is the end.",
    )


class FolderFiles(BaseModel):
    """A folder and how many of its files are indexed or could not be."""

    path: str
    files: int


class ListedFile(BaseModel):
    """A file with its state: indexed, changed, vanished or failed."""

    path: str
    state: FileState
    indexed_at: str
    reason: str


class Files(BaseModel):
    """A part of the files, of one folder or of all."""

    total_chunks: int
    unique_files: int
    folders: list[FolderFiles]
    files: list[ListedFile]
    has_more: bool


IndexFileAnswer = Answer[Annotated[Done[IndexedFile] | Failed, Field(discriminator="success")]]
IndexDirectoryAnswer = Answer[
    Annotated[Done[IndexedDirectory] | Failed, Field(discriminator="success")]
]
SearchAnswer = Answer[Annotated[Done[Found] | Failed, Field(discriminator="success")]]
BudgetAnswer = Answer[Annotated[Done[FoundWithinBudget] | Failed, Field(discriminator="success")]]
DeleteChunksAnswer = Answer[Annotated[Done[DeletedChunks] | Failed, Field(discriminator="success")]]
DeleteFileAnswer = Answer[Annotated[Done[DeletedFile] | Failed, Field(discriminator="success")]]
FilesAnswer = Answer[Annotated[Done[Files] | Failed, Field(discriminator="success")]]
ClearAnswer = Answer[Annotated[Done[Cleared] | Failed, Field(discriminator="success")]]
StatsAnswer = Answer[Annotated[Done[Stats] | Failed, Field(discriminator="success")]]
