"""Implementation of `get_policy_section`: reassemble a section from its chunks.

The section is looked up by metadata, not by similarity, because a reference is exact. Its text
is complete and in document order.
"""

from difflib import get_close_matches

from quinion.chunk.sections.references import choices, join_chunks, normalize_ref, select
from quinion.errors import InvalidInput, PolicyMissing, RevisionMissing, SectionMissing
from quinion.ingest.policies import KnowledgeBase
from quinion.model.policy import Revision
from quinion.model.section import SectionChunk
from quinion.servers.policy_kb.answers import Outline, OutlinedSection, Section
from quinion.servers.policy_kb.changes import NamedRevision
from quinion.servers.policy_kb.lookup import find_named, find_revision
from quinion.servers.policy_kb.records import CHUNKS, chunk_id, select_revision, to_chunk
from quinion.servers.policy_kb.section_comparison import compare_section
from quinion.servers.response_size import how_many_fit

MAX_SUGGESTIONS = 5
MAX_CHOICES = 20


async def read_section(
    knowledge: KnowledgeBase,
    source: str,
    section_ref: str,
    revision_id: str | None,
    from_part: int,
    compare_with: str | None = None,
) -> tuple[Section, list[str]]:
    """Read a section with all its subsections, compared with another revision if one is named.

    Returns it with the ids of its chunks.

    Raises:
        InvalidInput, InvalidDate: `from_part` is past the last part, or `compare_with` is neither
            another revision nor a date.
        SectionMissing: there is no such policy, revision or section; the message says which is
            unknown, and suggests similar sections.
    """
    try:
        revision = await find_revision(knowledge, source, revision_id)
    except (PolicyMissing, RevisionMissing) as error:
        raise SectionMissing(error.message) from error
    chunks = await _read_chunks(knowledge, revision)
    named = select(chunks, section_ref)
    if not named:
        raise SectionMissing(_missing_section_message(revision, section_ref, chunks))
    if from_part >= len(named):
        raise InvalidInput(f"from_part is {from_part}, but {section_ref} has {len(named)} parts.")
    rest = named[from_part:]
    count = max(1, how_many_fit([chunk.text for chunk in rest]))
    comparison = None
    if compare_with is not None:
        compared = await compare_section(knowledge, revision, section_ref, compare_with)
        comparison = compared.describe(rest[:count], is_first=not from_part)
        while comparison.truncated and count > 1:
            count //= 2
            comparison = compared.describe(rest[:count], is_first=not from_part)
    part = rest[:count]
    section = Section(
        source=source,
        section_ref=section_ref,
        revision_id=revision.revision_id,
        version_label=revision.version_label,
        text=join_chunks(part),
        page_numbers=sorted({page for chunk in part for page in chunk.pages}),
        next_part=from_part + count if count < len(rest) else None,
        hidden_text=any(chunk.has_hidden for chunk in part),
        comparison=comparison,
    )
    return section, [chunk_id(source, revision.revision_id, chunk) for chunk in part]


async def list_sections(knowledge: KnowledgeBase, revision: Revision) -> list[str]:
    """List the references of all sections of a revision, in document order."""
    chunks = await _read_chunks(knowledge, revision)
    return list(dict.fromkeys(ref for chunk in chunks for ref in chunk.path))


async def outline(knowledge: KnowledgeBase, source: str, name: str | None) -> Outline:
    """Outline a revision, named by its id or a day on which it was in force; by default today's.

    Raises:
        PolicyMissing, RevisionMissing: there is no such policy or revision.
        InvalidDate: the name is neither an id nor a date.
    """
    if name is None:
        revision = await find_revision(knowledge, source, None)
    else:
        revision = await find_named(knowledge, source, name)
    sections: dict[tuple[str, ...], OutlinedSection] = {}
    for chunk in await _read_chunks(knowledge, revision):
        for depth in range(1, len(chunk.path) + 1):
            sections.setdefault(
                chunk.path[:depth],
                OutlinedSection(ref=chunk.path[depth - 1], depth=depth, page=min(chunk.pages)),
            )
    found = list(sections.values())
    named = NamedRevision.of(revision)
    return Outline(**named.model_dump(), sections=found[: how_many_fit(found)])


async def _read_chunks(knowledge: KnowledgeBase, revision: Revision) -> list[SectionChunk]:
    where = select_revision(revision.source, revision.revision_id).where
    records = await knowledge.resources.collections.get(CHUNKS, where=where)
    return sorted(map(to_chunk, records), key=lambda chunk: chunk.index)


def _missing_section_message(
    revision: Revision, section_ref: str, chunks: list[SectionChunk]
) -> str:
    where = f"{revision.source} ({revision.version_label})"
    if not chunks:
        return f"{where} has no text. Ingest it with ingest_policy_revision."
    if meant := choices(chunks, section_ref):
        return (
            f"{section_ref!r} can mean several sections of {where}. Ask for one of them: "
            f"{', '.join(meant[:MAX_CHOICES])}."
        )
    refs = {normalize_ref(ref): ref for chunk in chunks for ref in chunk.path}
    near = get_close_matches(normalize_ref(section_ref), refs, MAX_SUGGESTIONS)
    hint = f" Near to it are: {', '.join(refs[ref] for ref in near)}." if near else ""
    return f"There is no section {section_ref!r} in {where}.{hint}"
