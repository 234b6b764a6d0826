"""Do the registry and the stored texts agree? For people, and for tests."""

from collections import Counter
from collections.abc import Sequence

from quinion.model.policy import Revision
from quinion.model.record import Record
from quinion.pipeline.engine import in_thread
from quinion.servers.policy_kb.knowledge import KnowledgeBase
from quinion.servers.policy_kb.records import CHUNKS, Key, followed_metadata, trace_of


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


async def mend(knowledge: KnowledgeBase) -> list[str]:
    """Let the registry count what is there, write its dates onto the chunks, and take out chunks of
    revisions that it does not have; a line for each."""
    registry = await knowledge.registry()
    shelves = await in_thread(registry.list_all_revisions)
    registered = {(r.source, r.revision_id): r for shelf in shelves.values() for r in shelf}
    stored: dict[Key, list[Record]] = {}
    for record in await knowledge.engine.get(CHUNKS):
        key = str(record.metadata["source"]), str(record.metadata["revision_id"])
        stored.setdefault(key, []).append(record)
    mended = []
    for key, revision in registered.items():
        mended += await _mend_revision(knowledge, revision, stored.pop(key, []))
    for (source, revision_id), records in stored.items():
        copy = await knowledge.engine.put_away([trace_of(source, revision_id)])
        if copy:
            mended.append(
                f"{source} {revision_id}: {len(records)} chunks of a revision that is not "
                f"registered. Dropped; a copy is {copy}"
            )
    return mended


async def _mend_revision(
    knowledge: KnowledgeBase, revision: Revision, records: Sequence[Record]
) -> list[str]:
    name = f"{revision.source} {revision.revision_id}"
    mended = []
    followed = followed_metadata(revision)
    if any(r.metadata.get(key) != value for r in records for key, value in followed.items()):
        trace = trace_of(revision.source, revision.revision_id)
        await knowledge.engine.set_metadata(trace, followed)
        await knowledge.note_followed(revision)
        mended.append(f"{name}: its chunks got the dates and label of the registry")
    if len(records) != revision.chunk_count:
        async with knowledge.busy((revision.source, revision.revision_id)):
            await knowledge.count_again(revision)
        mended.append(
            f"{name}: the registry said {revision.chunk_count} chunks, and there are "
            f"{len(records)}. Ingest it again"
        )
    return mended
