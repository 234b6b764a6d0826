"""Do the registry and the stored texts agree? For people, and for tests."""

from collections import Counter

from quinion.pipeline.engine import in_thread
from quinion.servers.policy_kb.knowledge import KnowledgeBase
from quinion.servers.policy_kb.records import CHUNKS, followed_metadata


async def find_problems(knowledge: KnowledgeBase) -> list[str]:
    """A line for each disagreement; none is good news.

    Raises:
        RegistryUnavailable, StoreUnavailable: one of them can't be asked.
    """
    await knowledge.in_step()
    registry = await knowledge.registry()
    shelves = await in_thread(registry.list_all_revisions)
    registered = {(r.source, r.revision_id): r for shelf in shelves.values() for r in shelf}
    records = await knowledge.engine.get(CHUNKS)
    counts: Counter[tuple[str, str]] = Counter()
    problems = []
    for record in records:
        data = record.metadata
        key = (str(data["source"]), str(data["revision_id"]))
        counts[key] += 1
        revision = registered.get(key)
        if revision is None:
            problems.append(f"{record.id}: its revision is not registered")
        elif any(data[name] != value for name, value in followed_metadata(revision).items()):
            problems.append(f"{record.id}: its dates or label are not those of its revision")
    problems += [
        f"{source} {revision_id}: {counts[source, revision_id]} chunks are stored, "
        f"and the registry says {revision.chunk_count}"
        for (source, revision_id), revision in registered.items()
        if counts[source, revision_id] != revision.chunk_count
    ]
    return problems
