"""Ingestion of the documents of planning applications.

    open_source → already ingested? → read (or skip a picture), chunk, embed → classify → store

Reading, chunking and embedding overlap. Only the last step writes, in one transaction. If there are
workers on other hosts, everything after the first step happens in one of them.
"""

import dataclasses
import logging
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Any

import numpy as np

from quinion.chunk.recursive import join_pages
from quinion.classify.classifier import classify, is_rendering
from quinion.concurrency import in_thread
from quinion.embed.base import Vectors
from quinion.errors import DocumentMissing, ExtractionFailed, NoChunks, NoContent
from quinion.extract.formats import IMAGE, PDF, by_extension
from quinion.ingest.applications.records import (
    DocumentRecords,
    IngestedDocument,
    KnownDocument,
    NewDocument,
    Outcome,
    SkippedPicture,
    outcomes,
)
from quinion.ingest.documents import ExtractedDocument
from quinion.ingest.engine_resources import Arguments, Resources
from quinion.ingest.foreign_text import check_language
from quinion.ingest.kept_files import NewFile
from quinion.ingest.misread_pages import find_misread
from quinion.ingest.page_quality import PageQuality
from quinion.ingest.progress import Progress
from quinion.ingest.source import Source, open_source
from quinion.ingest.streaming import read_and_embed
from quinion.model.chunk import Chunk
from quinion.model.document_type import DocumentType
from quinion.model.page import count_hidden_by_page, document_method
from quinion.model.record import Metadata, Record
from quinion.store.base import Selector
from quinion.store.collections import Write
from quinion.store.filters import all_of

log = logging.getLogger(__name__)

EXTENSIONS = frozenset(by_extension([PDF, IMAGE]))
TASK = "application document"
"""Kind of the tasks for workers."""


class ApplicationIngestion:
    """Ingests documents; concurrent calls for the same document ingest it once."""

    def __init__(self, resources: Resources, records: DocumentRecords) -> None:
        self._resources = resources
        self._records = records

    async def ingest(
        self,
        file_path: str,
        application_ref: str,
        document_type: str | None,
        progress: Progress,
        *,
        replace: bool = False,
        again: Record | None = None,
    ) -> Outcome:
        """Ingest one file.

        With `replace`, the earlier version from the same path is deleted in the same transaction.
        With `again`, the registry record of a document, the file is read again in any case, and
        replaces that document.

        Raises:
            FileProblem: the file cannot be ingested.
            StoreUnavailable: the store cannot be read or written.
            ModelUnavailable: the embedding model cannot be loaded.
        """
        roots = self._resources.settings.read_roots
        source = await in_thread(open_source, file_path, EXTENSIONS, roots)
        if self._resources.queue and (
            again is not None or not await self._find_existing(application_ref, source.sha256)
        ):
            task = {
                "application_ref": application_ref,
                "document_type": document_type,
                "replace": replace,
                "again": again and again.id,
            }
            found = await self._resources.queue.run(TASK, source, task, progress)
            if found is not None:
                await in_thread(self._resources.store.refresh)
                return outcomes().validate_python(found)
        return await self._ingest_source(
            source, application_ref, document_type, progress, replace=replace, again=again
        )

    async def do_task(self, source: Source, task: Arguments, progress: Progress) -> Any:
        """Ingest a file that a server has handed over; see `DoTask`."""
        outcome = await self._ingest_source(
            source,
            task["application_ref"],
            task["document_type"],
            progress,
            replace=task["replace"],
            again=await self._get(task["again"]) if task["again"] else None,
        )
        return outcomes().dump_python(outcome, mode="json")

    async def _ingest_source(
        self,
        source: Source,
        application_ref: str,
        document_type: str | None,
        progress: Progress,
        *,
        replace: bool,
        again: Record | None,
    ) -> Outcome:
        settings = self._resources.settings
        async with self._hold("document", application_ref, source.sha256):
            known = await self._find_existing(application_ref, source.sha256)
            if known and again is None:
                earlier = await self._find_earlier(application_ref, source)
                if earlier and replace:
                    await self.delete(earlier)
                return KnownDocument(known, earlier)
            rendering = is_rendering(source.path.name)
            reading, chunks, vectors = await read_and_embed(
                self._resources,
                source,
                ocr=settings.enable_ocr and not rendering,
                threshold=settings.image_ratio_threshold,
                progress=progress,
            )
            if reading.is_picture or (rendering and reading.is_blank):
                return SkippedPicture(reading.inspection.image_ratio, reading.inspection.page_count)
            if reading.is_blank:
                raise NoContent(_no_text_message(source.path.name, settings.enable_ocr))
            if not chunks:
                raise NoChunks(f"{source.path.name} has no text that can be split into chunks.")
            draft = _draft_document(source, application_ref, document_type, reading, len(chunks))
            draft = dataclasses.replace(
                draft,
                title=await self._find_title(source),
                document_type=_keep_type(draft.document_type, again),
            )
            text = join_pages(reading.pages)
            async with self._hold("path", application_ref, str(source.path)):
                earlier = await self._find_earlier(application_ref, source)
                if again is not None:
                    replaced = [again.id]
                else:
                    replaced = [earlier] if earlier and replace else []
                new = NewFile(source.real_path, source.sha256, reading.pages)
                async with self._resources.kept.change([new], await self._hashes(replaced)):
                    document = await self._store(draft, text, chunks, vectors, replaced)
            is_foreign = check_language(source.path.name, (page.text for page in reading.pages))
            return NewDocument(
                document,
                len(text),
                len(text.split()),
                count_hidden_by_page(reading.pages),
                is_foreign,
                earlier,
                find_misread(reading.pages),
            )

    async def ingest_again(
        self, document_id: str, document_type: str | None, progress: Progress
    ) -> Outcome:
        """Read the file of a document again and replace the document.

        A type that the user gave is kept; so is the stored type if none is found now.

        Raises:
            DocumentMissing: the id is not in the registry.
            FileProblem, StoreUnavailable, ModelUnavailable: see `ingest`.
        """
        record = await self._get(document_id)
        kept = record.metadata
        if document_type is None and kept.get("type_is_given"):
            document_type = str(kept["document_type"])
        path, ref = str(kept["file_path"]), str(kept["application_ref"])
        return await self.ingest(path, ref, document_type, progress, again=record)

    async def delete(self, document_id: str) -> int:
        """Delete a document with its registry record and all chunks; return their number.

        Raises:
            DocumentMissing: the id is not in the registry.
        """
        document = await self._get(document_id)
        selectors = self._records.select_document(document_id)
        async with self._resources.kept.change(removed=[str(document.metadata["file_hash"])]):
            return await self._resources.collections.delete(selectors) - 1

    async def _hashes(self, ids: Sequence[str]) -> list[str]:
        records = await self._resources.collections.get(self._records.REGISTRY, ids=ids)
        return [str(record.metadata["file_hash"]) for record in records]

    async def _get(self, document_id: str) -> Record:
        collections = self._resources.collections
        for record in await collections.get(self._records.REGISTRY, ids=[document_id]):
            return record
        raise DocumentMissing(f"Document not found: {document_id}")

    async def _find_existing(self, application_ref: str, file_hash: str) -> str | None:
        where = all_of({"application_ref": application_ref}, {"file_hash": file_hash})
        for record in await self._resources.collections.get(self._records.REGISTRY, where=where):
            chunks = Selector.by_values(self._records.CHUNKS, document_id=record.id)
            # A document with missing chunks was damaged, so it is ingested again.
            if await self._resources.collections.count(chunks) == record.metadata["chunk_count"]:
                return record.id
        return None

    async def _find_earlier(self, application_ref: str, source: Source) -> str | None:
        """Find the newest document from the same path with other content."""
        where = all_of({"application_ref": application_ref}, {"file_path": str(source.path)})
        found = [
            record
            for record in await self._resources.collections.get(self._records.REGISTRY, where=where)
            if record.metadata["file_hash"] != source.sha256
        ]
        found.sort(key=lambda record: str(record.metadata["ingested_at"]))
        return found[-1].id if found else None

    async def _find_title(self, source: Source) -> str:
        if source.path.suffix.lower() not in by_extension([PDF]):
            return ""
        options = {"ocr": False, "extension": source.path.suffix}
        try:
            info = await self._resources.workers.first(
                "describe", path=str(source.real_path), options=options
            )
        except ExtractionFailed as error:  # its text was read, and a title is optional
            log.warning("%s: no title can be read: %s", source.path.name, error)
            return ""
        return str(info["title"])

    async def _store(
        self,
        draft: IngestedDocument,
        text: str,
        chunks: Sequence[Chunk],
        vectors: Vectors,
        replaced: Sequence[str],
    ) -> IngestedDocument:
        for id_ in self._records.possible_ids(draft.application_ref, draft.file_hash):
            # Another document of any engine may be about to take this id.
            async with self._hold("id", id_):
                if await self._is_free(id_, draft):
                    document = dataclasses.replace(draft, id=id_)
                    await self._write(document, text, chunks, vectors, replaced)
                    return document
        raise AssertionError("two documents with the same SHA-256")  # pragma: no cover

    async def _write(
        self,
        document: IngestedDocument,
        text: str,
        chunks: Sequence[Chunk],
        vectors: Vectors,
        replaced: Sequence[str],
    ) -> None:
        records = self._records

        def store(write: Write) -> None:
            # Remains of an incomplete copy, and earlier versions.
            for id_ in (document.id, *replaced):
                for selector in records.select_document(id_):
                    write.delete(selector)
            write.upsert(records.CHUNKS, records.chunk_records(document, text, chunks), vectors)
            placeholder = np.zeros((1, vectors.shape[1]), np.float32)
            write.upsert(records.REGISTRY, [records.registry_record(document)], placeholder)

        await self._resources.collections.write(store)

    async def _is_free(self, id_: str, draft: IngestedDocument) -> bool:
        """Whether no other document has this id. An incomplete copy of the file is replaced."""
        holders = await self._resources.collections.get(self._records.REGISTRY, ids=[id_])
        return all(_is_same_file(draft, one.metadata) for one in holders)

    def _hold(self, kind: str, *names: str) -> AbstractAsyncContextManager[None]:
        return self._resources.locks.hold((kind, self._records.REGISTRY, *names))


def _draft_document(
    source: Source,
    application_ref: str,
    document_type: str | None,
    reading: ExtractedDocument,
    chunk_count: int,
) -> IngestedDocument:
    """Describe the document as read; it receives its id when it is stored."""
    return IngestedDocument(
        id="",
        file_path=source.path,
        file_hash=source.sha256,
        application_ref=application_ref,
        document_type=document_type or str(classify(source.path.name, join_pages(reading.pages))),
        chunk_count=chunk_count,
        ingested_at=datetime.now(UTC),
        extraction_method=document_method(reading.pages),
        contains_drawings=reading.contains_drawings,
        type_is_given=document_type is not None,
        quality=PageQuality.of(reading.pages),
    )


def _keep_type(found: str, again: Record | None) -> str:
    if again is None or found != DocumentType.OTHER:
        return found
    return str(again.metadata["document_type"])


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
