"""Implementation of `ingest_document`.

    open_source → already ingested? → read (or skip a picture), chunk, embed → classify → store

Reading, chunking and embedding overlap. Only the last step writes, in one transaction.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from quinion.chunk.recursive import join_pages
from quinion.classify.classifier import classify, is_rendering
from quinion.concurrency import KeyedLock, in_thread
from quinion.embed.base import Vectors
from quinion.engine import Engine
from quinion.errors import DocumentMissing, NoChunks, NoContent
from quinion.extract.formats import IMAGE, PDF, by_extension
from quinion.ingest import documents as pipeline
from quinion.ingest.documents import ExtractedDocument
from quinion.ingest.progress import Progress
from quinion.ingest.source import Source, open_source
from quinion.model.chunk import Chunk
from quinion.model.document_type import DocumentType
from quinion.model.page import count_hidden_by_page, document_method
from quinion.model.record import Metadata
from quinion.servers.document_store.answers import AlreadyIngested, Ingested, Skipped
from quinion.servers.document_store.records import (
    CHUNKS,
    REGISTRY,
    IngestedDocument,
    chunk_records,
    now,
    possible_ids,
    registry_record,
    select_document,
)
from quinion.servers.invisible_text import warn
from quinion.store.base import Selector
from quinion.store.collections import Write
from quinion.store.filters import all_of

EXTENSIONS = frozenset(by_extension([PDF, IMAGE]))


class Ingestion:
    """Ingests documents; concurrent calls for the same document ingest it once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._locks = KeyedLock()
        self._reserved_ids: set[str] = set()

    async def ingest(
        self,
        file_path: str,
        application_ref: str,
        document_type: DocumentType | None,
        progress: Progress,
    ) -> Ingested | AlreadyIngested | Skipped:
        """Ingest one file.

        Raises:
            FileProblem: the file cannot be ingested.
            StoreUnavailable: the store cannot be read or written.
            ModelUnavailable: the embedding model cannot be loaded.
        """
        settings = self._engine.settings
        source = await in_thread(open_source, file_path, EXTENSIONS, settings.read_roots)
        async with self._locks.hold((application_ref, source.sha256)):
            if known := await self._find_existing(application_ref, source.sha256):
                return AlreadyIngested(document_id=known)
            rendering = is_rendering(source.path.name)
            reading, chunks, vectors = await pipeline.read_and_embed(
                self._engine,
                source,
                ocr=settings.enable_ocr and not rendering,
                threshold=settings.image_ratio_threshold,
                progress=progress,
            )
            if reading.is_picture or (rendering and reading.is_blank):
                return Skipped(
                    image_ratio=round(reading.inspection.image_ratio, 3),
                    total_pages=reading.inspection.page_count,
                )
            if reading.is_blank:
                raise NoContent(_no_text_message(source.path.name, settings.enable_ocr))
            if not chunks:
                raise NoChunks(f"{source.path.name} has no text that can be split into chunks.")
            draft = _draft_document(source, application_ref, document_type, reading, len(chunks))
            text = join_pages(reading.pages)
            document = await self._store(draft, text, chunks, vectors)
            return Ingested(
                document_id=document.id,
                chunks_created=len(chunks),
                extraction_method=str(document.extraction_method),
                contains_drawings=document.contains_drawings,
                total_chars=len(text),
                total_words=len(text.split()),
                warnings=warn(count_hidden_by_page(reading.pages)),
            )

    async def _find_existing(self, application_ref: str, file_hash: str) -> str | None:
        where = all_of({"application_ref": application_ref}, {"file_hash": file_hash})
        for record in await self._engine.collections.get(REGISTRY, where=where):
            chunks = Selector.by_values(CHUNKS, document_id=record.id)
            # A document with missing chunks was damaged, so it is ingested again.
            if await self._engine.collections.count(chunks) == record.metadata["chunk_count"]:
                return record.id
        return None

    async def _store(
        self, draft: IngestedDocument, text: str, chunks: Sequence[Chunk], vectors: Vectors
    ) -> IngestedDocument:
        document = replace(draft, id=await self._reserve_id(draft))

        def store(write: Write) -> None:
            for selector in select_document(document.id):  # remains of an incomplete copy
                write.delete(selector)
            write.upsert(CHUNKS, chunk_records(document, text, chunks), vectors)
            placeholder = np.zeros((1, vectors.shape[1]), np.float32)
            write.upsert(REGISTRY, [registry_record(document)], placeholder)

        try:
            await self._engine.collections.write(store)
        finally:
            self._reserved_ids.discard(document.id)
        return document

    async def _reserve_id(self, draft: IngestedDocument) -> str:
        """Reserve the shortest id that no stored or concurrent document has."""
        for candidate in possible_ids(draft.application_ref, draft.file_hash):
            if candidate in self._reserved_ids:
                continue
            self._reserved_ids.add(candidate)
            free = False
            try:
                holders = await self._engine.collections.get(REGISTRY, ids=[candidate])
                # An incomplete copy of the same file is replaced.
                free = all(_is_same_file(draft, one.metadata) for one in holders)
            finally:
                if not free:
                    self._reserved_ids.discard(candidate)
            if free:
                return candidate
        raise AssertionError("two documents with the same SHA-256")  # pragma: no cover


async def delete_document(engine: Engine, document_id: str) -> None:
    """Delete a document with its registry record and all chunks.

    Raises:
        DocumentMissing: the id is not in the registry.
    """
    if not await engine.collections.get(REGISTRY, ids=[document_id]):
        raise DocumentMissing(f"Document not found: {document_id}")
    await engine.collections.delete(select_document(document_id))


def _draft_document(
    source: Source,
    application_ref: str,
    document_type: DocumentType | None,
    reading: ExtractedDocument,
    chunk_count: int,
) -> IngestedDocument:
    """Describe the document as read; it receives its id when it is stored."""
    return IngestedDocument(
        id="",
        file_path=source.path,
        file_hash=source.sha256,
        application_ref=application_ref,
        document_type=document_type or classify(source.path.name, join_pages(reading.pages)),
        chunk_count=chunk_count,
        ingested_at=now(),
        extraction_method=document_method(reading.pages),
        contains_drawings=reading.contains_drawings,
    )


def _is_same_file(document: IngestedDocument, metadata: Metadata) -> bool:
    return (document.file_hash, document.application_ref) == (
        metadata["file_hash"],
        metadata["application_ref"],
    )


def _no_text_message(name: str, ocr: bool) -> str:
    if ocr:
        return f"No text was found in {name}, neither in its text layer nor by OCR."
    return (
        f"No text was found in {name}, and OCR is off, so scanned pages were not read. "
        "Set ENABLE_OCR=true and try again."
    )
