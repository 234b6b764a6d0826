"""Stored records: collections, ids and metadata, as the contract prescribes them."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from quinion.ingest.applications.records import IngestedDocument
from quinion.model.chunk import Chunk
from quinion.model.page import PAGE_SPANS, format_spans
from quinion.model.record import Metadata, Record, flag
from quinion.search.merge import Merging
from quinion.store.base import Selector

CHUNKS = "application_docs"
REGISTRY = "document_registry"
MERGING = Merging(document=("document_id",), overlap=True)

MIN_PREFIX_LENGTH = 6


def possible_ids(application_ref: str, file_hash: str) -> Iterator[str]:
    """Yield the document's id, then longer ones in case another document has it."""
    sanitized = re.sub(r"[\W_]+", "_", application_ref)
    for length in range(MIN_PREFIX_LENGTH, len(file_hash) + 1):
        yield f"{sanitized}_{file_hash[:length]}"


IMPORTABLE = {
    CHUNKS: frozenset(
        {"application_ref", "document_id", "source_file", "page_numbers", "chunk_index"}
    ),
    REGISTRY: frozenset({"file_path", "file_hash", "application_ref", "chunk_count"}),
}
"""Collections and required metadata that other programs write under the contract."""


def select_document(document_id: str) -> list[Selector]:
    """Select all records of a document."""
    return [
        Selector.by_ids(REGISTRY, [document_id]),
        Selector.by_values(CHUNKS, document_id=document_id),
    ]


def chunk_records(document: IngestedDocument, text: str, chunks: Sequence[Chunk]) -> list[Record]:
    """Build the stored records of a document's chunks.

    `char_start`, `gap_before`, `page_breaks`, `page_spans` and the hidden-text flag are additions
    to the contract. The first two allow the text to be reassembled without overlaps, the third to
    split it by page, the fourth to find the chunk on its pages.
    """
    chunk_ends = [0, *(chunk.end for chunk in chunks)]
    return [
        Record(
            id=f"{document.id}_{chunk.pages[0]:03d}_{chunk.index:03d}",
            text=chunk.text,
            metadata={
                "application_ref": document.application_ref,
                "document_id": document.id,
                "source_file": document.file_path.name,
                "document_type": document.document_type,
                "page_numbers": ",".join(map(str, chunk.pages)),
                "chunk_index": chunk.index,
                "total_chunks": len(chunks),
                "extraction_method": str(document.extraction_method),
                "char_count": len(chunk.text),
                "word_count": chunk.word_count,
                "char_start": chunk.start,
                "gap_before": text[end_before : chunk.start],
                **_note_breaks(chunk),
                PAGE_SPANS: format_spans(chunk.page_spans(text)),
                **flag(chunk.has_hidden),
            },
        )
        for chunk, end_before in zip(chunks, chunk_ends, strict=False)
    ]


def registry_record(document: IngestedDocument) -> Record:
    """Build the registry record of a document.

    The title, the note that the user gave the type, and the quality of the pages are additions to
    the contract.
    """
    return Record(
        id=document.id,
        text=document.file_path.name,
        metadata={
            "file_path": str(document.file_path),
            "file_hash": document.file_hash,
            "application_ref": document.application_ref,
            "document_type": document.document_type,
            "chunk_count": document.chunk_count,
            "ingested_at": document.ingested_at.isoformat(timespec="seconds"),
            "extraction_method": str(document.extraction_method),
            "contains_drawings": document.contains_drawings,
            **({"title": document.title} if document.title else {}),
            **({"type_is_given": True} if document.type_is_given else {}),
            **document.quality.as_metadata(),
        },
    )


def title_of(registered: Metadata) -> str:
    """Return the title in a registry record, or the name of the file without its extension."""
    return str(registered.get("title") or Path(str(registered["file_path"])).stem)


def page_breaks(metadata: Metadata) -> list[int]:
    """Return the offsets in a chunk at which a page starts; empty if they are not stored."""
    noted = str(metadata.get("page_breaks", ""))
    return [int(offset) for offset in noted.split(",") if offset]


def _note_breaks(chunk: Chunk) -> Metadata:
    offsets = chunk.page_breaks
    return {"page_breaks": ",".join(map(str, offsets))} if offsets else {}
