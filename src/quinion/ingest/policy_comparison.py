"""Comparison of two stored revisions of a policy, from their chunks."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

from quinion.chunk.sections.references import join_chunks
from quinion.compare.revisions import compare
from quinion.concurrency import in_thread
from quinion.errors import InvalidInput, SectionMissing
from quinion.ingest.policies import KnowledgeBase
from quinion.model.comparison import Comparison, SectionText
from quinion.model.policy import Revision
from quinion.model.section import SectionChunk

_MOST_KEPT = 8


async def compare_texts(knowledge: KnowledgeBase, before: Revision, after: Revision) -> Comparison:
    """Compare the texts of two revisions of one policy.

    Raises:
        InvalidInput: both are the same revision.
        SectionMissing: a revision has no text.
    """
    if before.revision_id == after.revision_id:
        raise InvalidInput(
            f"Both are {before.revision_id} of {before.source}, so there is nothing to compare. "
            "Name two revisions."
        )
    sides = [tuple(await _read_sections(knowledge, one)) for one in (before, after)]
    return await in_thread(_compare, *sides)


@lru_cache(maxsize=_MOST_KEPT)
def _compare(before: tuple[SectionText, ...], after: tuple[SectionText, ...]) -> Comparison:
    """Compare, or return the kept comparison of the same texts."""
    return compare(before, after)


async def _read_sections(knowledge: KnowledgeBase, revision: Revision) -> list[SectionText]:
    records = knowledge.records
    where = records.select_revision(revision.source, revision.revision_id).where
    stored = await knowledge.resources.collections.get(records.CHUNKS, where=where)
    if not stored:
        raise SectionMissing(
            f"{revision.source} ({revision.version_label}, {revision.revision_id}) has no text. "
            "Ingest it with ingest_policy_revision."
        )
    return join_sections(sorted(map(records.to_chunk, stored), key=lambda chunk: chunk.index))


def join_sections(chunks: Sequence[SectionChunk]) -> list[SectionText]:
    """Join chunks, in document order, to the sections that they are parts of."""
    sections = []
    for _, group in groupby(chunks, key=lambda chunk: chunk.section_index):
        parts = list(group)
        pages = sorted({page for part in parts for page in part.pages})
        first = parts[0]
        sections.append(SectionText(first.ref, first.path, tuple(pages), join_chunks(parts)))
    return sections
