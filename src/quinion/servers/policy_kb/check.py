"""Consistency check and repair of the registry and the stored chunks."""

from collections import Counter
from collections.abc import Mapping, Sequence

from quinion.concurrency import in_thread
from quinion.ingest.policies import Key, KnowledgeBase
from quinion.model.policy import Revision
from quinion.model.record import Record
from quinion.servers.policy_kb.records import CHUNKS, registry_metadata
from quinion.store.policies import PolicyRegistry


async def find_problems(knowledge: KnowledgeBase) -> list[str]:
    """List one line per inconsistency; empty if the data is consistent.

    Raises:
        RegistryUnavailable, StoreUnavailable: the registry or the store cannot be read.
    """
    await knowledge.sync()
    registry = await knowledge.registry()
    by_source = await in_thread(_list_revisions, registry)
    registered = {
        (r.source, r.revision_id): r for revisions in by_source.values() for r in revisions
    }
    records = await knowledge.resources.collections.get(CHUNKS)
    counts: Counter[tuple[str, str]] = Counter()
    problems = []
    for record in records:
        data = record.metadata
        key = (str(data["source"]), str(data["revision_id"]))
        counts[key] += 1
        revision = registered.get(key)
        if revision is None:
            problems.append(
                f"{record.id}: its revision is not registered. Register it again, or remove the "
                "chunks with remove_policy_revision"
            )
        elif any(data[name] != value for name, value in registry_metadata(revision).items()):
            problems.append(f"{record.id}: its dates or label are not those of its revision")
    problems += [
        f"{source} {revision_id}: {counts[source, revision_id]} chunks are stored, "
        f"and the registry says {revision.chunk_count}"
        for (source, revision_id), revision in registered.items()
        if counts[source, revision_id] != revision.chunk_count
    ]
    return problems


def _list_revisions(registry: PolicyRegistry) -> dict[str, list[Revision]]:
    """List the revisions of every policy; an invalid entry is an error, as it may own chunks."""
    return {one.source: registry.list_revisions(one.source) for one in registry.list_policies()}


async def repair(knowledge: KnowledgeBase) -> list[str]:
    """Correct the registry's chunk counts and the chunks' dates, and list the repairs.

    Chunks of an unregistered revision stay: they may be the last copy of its text.
    """
    registry = await knowledge.registry()
    by_source = await in_thread(_list_revisions, registry)
    stored: dict[Key, list[Record]] = {}
    for record in await knowledge.resources.collections.get(CHUNKS):
        key = str(record.metadata["source"]), str(record.metadata["revision_id"])
        stored.setdefault(key, []).append(record)
    repaired = []
    for revision in (revision for revisions in by_source.values() for revision in revisions):
        records = stored.get((revision.source, revision.revision_id), [])
        repaired += await _repair_revision(knowledge, revision, records)
    return repaired


async def _repair_revision(
    knowledge: KnowledgeBase, revision: Revision, records: Sequence[Record]
) -> list[str]:
    name = f"{revision.source} {revision.revision_id}"
    repaired = []
    from_registry = registry_metadata(revision)
    if any(r.metadata.get(key) != value for r in records for key, value in from_registry.items()):
        await knowledge.write_registry_metadata([revision])
        repaired.append(f"{name}: its chunks got the dates and label of the registry")
    if len(records) != revision.chunk_count:
        async with knowledge.mark_busy((revision.source, revision.revision_id)):
            await knowledge.recount_chunks(revision)
        repaired.append(
            f"{name}: the registry said {revision.chunk_count} chunks, and there are "
            f"{len(records)}. Ingest it again"
        )
    return repaired


async def name_originals(knowledge: KnowledgeBase) -> Mapping[str, str]:
    """Map the hashes of the revisions' files to the revisions."""
    chunks = (record.metadata for record in await knowledge.resources.collections.get(CHUNKS))
    return {
        str(data["file_hash"]): f"{data['source']} {data['revision_id']}"
        for data in chunks
        if "file_hash" in data
    }
