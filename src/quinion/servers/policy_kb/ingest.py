"""`ingest_policy_revision`, step by step.

    registered? → admit → read lines → find sections → chunk → embed → swap, and tell the registry

Nothing is changed before the last step but a status. That step puts the new chunks in the
place of the old ones, if there were any, and fails as a whole: readers see one or the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from quinion.chunk.sections.split import chunk_sections
from quinion.concurrency import KeyedLock, in_thread
from quinion.engine import Write
from quinion.errors import ExtractionFailed, NoContent, QuinionError
from quinion.ingest import documents as pipeline
from quinion.ingest.progress import Progress
from quinion.ingest.source import Source, admit
from quinion.model.line import LinedPage
from quinion.model.page import count_hidden_by_page, document_method
from quinion.model.policy import Policy, RevisionStatus, RevisionUpdate
from quinion.model.section import SectionChunk
from quinion.servers.invisible_text import warn
from quinion.servers.policy_kb.answers import Ingested
from quinion.servers.policy_kb.knowledge import KnowledgeBase, mark_synced
from quinion.servers.policy_kb.records import CHUNKS, chunk_records, select_revision

EXTENSIONS = frozenset({".pdf"})


class Ingestion:
    """Takes the texts of revisions in, one at a time for each revision."""

    def __init__(self, knowledge: KnowledgeBase) -> None:
        self._knowledge = knowledge
        self._locks = KeyedLock()

    async def ingest(
        self, source: str, revision_id: str, file_path: str, progress: Progress
    ) -> Ingested:
        """Ingest the text of a registered revision, in the place of what it has.

        Raises:
            PolicyMissing, RevisionMissing: it is not registered.
            FileProblem: the file can't be taken in.
            RegistryUnavailable, StoreUnavailable, ModelUnavailable: as they say.
        """
        async with self._locks.hold((source, revision_id)):
            registry = await self._knowledge.registry()
            policy = await in_thread(registry.get_policy, source)
            revision = await in_thread(registry.get_revision, source, revision_id)
            roots = self._knowledge.engine.settings.read_roots
            file = await in_thread(admit, file_path, EXTENSIONS, roots)
            if revision.chunk_count:
                return await self._replace_text(policy, revision_id, file, progress)
            note = partial(registry.update_revision, source, revision_id)
            await in_thread(note, RevisionUpdate(RevisionStatus.PROCESSING))
            try:
                return await self._replace_text(policy, revision_id, file, progress)
            except QuinionError as error:
                failure = RevisionUpdate(RevisionStatus.FAILED, error=error.message)
                await in_thread(note, failure)
                raise

    async def _replace_text(
        self, policy: Policy, revision_id: str, file: Source, progress: Progress
    ) -> Ingested:
        engine = self._knowledge.engine
        lined = await pipeline.read_lined(engine, file, progress)
        pages = [page.page for page in lined]
        hidden = count_hidden_by_page(pages)
        chunks = await in_thread(_chunk, lined, hidden)
        if not chunks:
            raise NoContent(
                f"No text was found in {file.path.name}, neither in its text layer nor by OCR."
            )
        vectors = await pipeline.embed(engine, chunks, len(pages), progress)
        size = await in_thread(_size, file)
        registry = await self._knowledge.registry()
        async with self._knowledge.mark_busy((policy.source, revision_id)):
            # The dates may have changed while the text was read.
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
                write.delete(select_revision(policy.source, revision_id))
                write.upsert(CHUNKS, chunk_records(policy, revision, chunks), vectors)
                mark_synced(write, revision)
                # Before the commit: if it fails, the chunks are as they were.
                registry.update_revision(policy.source, revision_id, done)

            await engine.write(replace_chunks)
        return Ingested(
            source=policy.source,
            revision_id=revision_id,
            chunks_created=len(chunks),
            page_count=len(pages),
            extraction_method=str(document_method(pages)),
            warnings=warn(hidden),
        )


def _chunk(pages: Sequence[LinedPage], hidden: Mapping[int, int]) -> list[SectionChunk]:
    """The chunks of all pages. Where each page says the same, all of it passes for running
    headers; then the first page that says it stands for the others."""
    chunks = chunk_sections([line for page in pages for line in page.lines])
    first = next((page.lines for page in pages if page.lines), ())
    return [
        replace(chunk, has_hidden=not hidden.keys().isdisjoint(chunk.pages))
        for chunk in chunks or chunk_sections(first)
    ]


def _size(file: Source) -> int:
    try:
        return file.real_path.stat().st_size
    except OSError as error:
        raise ExtractionFailed(
            f"{file.path.name} went away while it was being read. Put it back and try again."
        ) from error
