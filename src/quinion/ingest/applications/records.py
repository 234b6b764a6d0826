"""Documents of applications: what a server records of them, and the outcomes of their ingestion."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Protocol

from pydantic import TypeAdapter

from quinion.ingest.page_quality import NOT_RECORDED, PageQuality
from quinion.model.chunk import Chunk
from quinion.model.page import Method
from quinion.model.record import Record
from quinion.store.base import Selector


@dataclass(frozen=True, slots=True)
class IngestedDocument:
    """Ingested document, as recorded in the registry."""

    id: str
    file_path: Path
    file_hash: str
    application_ref: str
    document_type: str
    chunk_count: int
    ingested_at: datetime
    extraction_method: Method
    contains_drawings: bool
    title: str = ""
    type_is_given: bool = False
    quality: PageQuality = NOT_RECORDED


@dataclass(frozen=True, slots=True)
class NewDocument:
    """Outcome: the document was stored.

    `hidden` counts invisible characters by page number; `is_foreign`: most is not in English.
    `misread` is the estimated share of wrong words by page number (`misread_pages`).
    `earlier` is the id of the newest other version: from the same path, with other content.
    """

    document: IngestedDocument
    character_count: int
    word_count: int
    hidden: Mapping[int, int]
    is_foreign: bool = False
    earlier: str | None = None
    misread: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """Outcome: the same content is stored already for this application; `earlier` as above."""

    id: str
    earlier: str | None = None


@dataclass(frozen=True, slots=True)
class SkippedPicture:
    """Outcome: the file is a drawing, a photograph or a rendering, and was not stored."""

    image_ratio: float
    page_count: int


Outcome = NewDocument | KnownDocument | SkippedPicture


class DocumentRecords(Protocol):
    """Stored form of a document and its chunks, which the contract of the server prescribes."""

    CHUNKS: str
    REGISTRY: str

    def possible_ids(self, application_ref: str, file_hash: str) -> Iterator[str]:
        """Yield the document's id, then longer ones in case another document has it."""
        ...

    def select_document(self, document_id: str) -> list[Selector]:
        """Select all records of a document."""
        ...

    def chunk_records(
        self, document: IngestedDocument, text: str, chunks: Sequence[Chunk]
    ) -> list[Record]:
        """Build the stored records of a document's chunks."""
        ...

    def registry_record(self, document: IngestedDocument) -> Record:
        """Build the registry record of a document."""
        ...


@cache
def outcomes() -> TypeAdapter[Outcome]:
    """The JSON form of outcomes."""
    return TypeAdapter(Outcome)
