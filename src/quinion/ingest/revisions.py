"""Ingestion of the text of a policy revision.

    registered? → open → read lines → find sections → chunk → embed → swap, update the registry

Before the last step only the revision's status changes. The last step replaces the old chunks
with the new ones atomically, so readers see either the old text or the new one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from quinion.chunk.sections.split import chunk_sections
from quinion.concurrency import in_thread
from quinion.errors import ExtractionFailed, LeaseLost, NoContent, QuinionError
from quinion.ingest import documents as pipeline
from quinion.ingest.foreign_text import check_language
from quinion.ingest.kept_files import NewFile
from quinion.ingest.misread_pages import find_misread
from quinion.ingest.policies import KnowledgeBase
from quinion.ingest.progress import Progress
from quinion.ingest.source import Source, open_source
from quinion.model.line import LinedPage
from quinion.model.page import Method, count_hidden_by_page, document_method
from quinion.model.policy import Policy, RevisionStatus, RevisionUpdate
from quinion.model.section import SectionChunk
from quinion.store.collections import Write

EXTENSIONS = frozenset({".pdf"})


@dataclass(frozen=True, slots=True)
class IngestedRevision:
    """Result of an ingestion.

    `hidden` is the number of invisible characters, and `misread` the estimated share of wrong
    words, by page number.
    """

    chunk_count: int
    page_count: int
    method: Method
    hidden: Mapping[int, int]
    misread: Mapping[int, float]


class RevisionIngestion:
    """Ingests the texts of revisions, one call at a time per revision."""

    def __init__(self, knowledge: KnowledgeBase) -> None:
        self._knowledge = knowledge

    async def ingest(
        self, source: str, revision_id: str, file_path: str, progress: Progress
    ) -> IngestedRevision:
        """Ingest the text of a registered revision, replacing its current chunks.

        Raises:
            PolicyMissing, RevisionMissing: the policy or the revision is not registered.
            FileProblem: the file cannot be ingested.
            RegistryUnavailable, StoreUnavailable: the registry or the store fails.
            ModelUnavailable: the embedding model cannot be loaded.
        """
        locks = self._knowledge.resources.locks
        async with locks.hold(("revision", source, revision_id)):
            registry = await self._knowledge.registry()
            policy = await in_thread(registry.get_policy, source)
            revision = await in_thread(registry.get_revision, source, revision_id)
            roots = self._knowledge.resources.settings.read_roots
            file = await in_thread(open_source, file_path, EXTENSIONS, roots)
            if revision.chunk_count:
                return await self._replace_text(policy, revision_id, file, progress)
            note = partial(registry.update_revision, source, revision_id)
            await in_thread(note, RevisionUpdate(RevisionStatus.PROCESSING))
            try:
                return await self._replace_text(policy, revision_id, file, progress)
            except LeaseLost:  # what another engine records must stay
                raise
            except QuinionError as error:
                failure = RevisionUpdate(RevisionStatus.FAILED, error=error.message)
                await in_thread(note, failure)
                raise

    async def _replace_text(
        self, policy: Policy, revision_id: str, file: Source, progress: Progress
    ) -> IngestedRevision:
        knowledge, resources = self._knowledge, self._knowledge.resources
        records = knowledge.records
        lined = await pipeline.read_lined(resources, file, progress)
        pages = [page.page for page in lined]
        hidden = count_hidden_by_page(pages)
        chunks = await in_thread(_chunk, lined, hidden)
        if not chunks:
            raise NoContent(
                f"No text was found in {file.path.name}, neither in its text layer nor by OCR."
            )
        found = [replace(chunk, text=chunk.found_text) for chunk in chunks]
        vectors = await pipeline.embed(resources, found, len(pages), progress)
        size = await in_thread(_size, file)
        registry = await self._knowledge.registry()
        async with self._knowledge.mark_busy((policy.source, revision_id)):
            # Read again: the dates may have changed during extraction.
            revision = await in_thread(registry.get_revision, policy.source, revision_id)

            done = RevisionUpdate(
                status=RevisionStatus.ACTIVE,
                file_path=file.path,
                file_size_bytes=size,
                page_count=len(pages),
                chunk_count=len(chunks),
                ingested_at=datetime.now(UTC),
            )

            def replace_chunks(write: Write) -> None:
                write.delete(records.select_revision(policy.source, revision_id))
                new = records.chunk_records(policy, revision, chunks, file.sha256)
                write.upsert(records.CHUNKS, new, vectors)
                knowledge.mark_synced(write, revision)
                # Before the commit, so that a failing registry leaves the old chunks in place.
                registry.update_revision(policy.source, revision_id, done)

            kept = NewFile(file.real_path, file.sha256, pages)
            before = await self._knowledge.find_hash(policy.source, revision_id)
            async with resources.kept.change([kept], before):
                await resources.collections.write(replace_chunks)
        check_language(file.path.name, (page.text for page in pages))
        method, misread = document_method(pages), find_misread(pages)
        return IngestedRevision(len(chunks), len(pages), method, hidden, misread)


def _chunk(pages: Sequence[LinedPage], hidden: Mapping[int, int]) -> list[SectionChunk]:
    """Split all pages into chunks.

    If all pages have the same text, all of it is classified as running headers and no chunk is
    left. The first page with text is then chunked in place of all. Text below a heading that is on
    a page with invisible text stays there, so that the heading needs no mark.
    """
    chunks = chunk_sections([line for page in pages for line in page.lines])
    first = next((page.lines for page in pages if page.lines), ())
    return [_mark_hidden(chunk, hidden) for chunk in chunks or chunk_sections(first)]


def _mark_hidden(chunk: SectionChunk, hidden: Mapping[int, int]) -> SectionChunk:
    if not hidden.keys().isdisjoint(chunk.pages):
        return replace(chunk, has_hidden=True)
    return chunk if hidden.keys().isdisjoint(chunk.below_pages) else chunk.without_below()


def _size(file: Source) -> int:
    try:
        return file.real_path.stat().st_size
    except OSError as error:
        raise ExtractionFailed(
            f"{file.path.name} was removed while it was being read. Restore it and try again."
        ) from error
