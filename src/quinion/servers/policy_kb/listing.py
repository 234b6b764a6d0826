"""Lists of policies and of their revisions."""

from collections.abc import Sequence
from datetime import UTC, datetime

from quinion.concurrency import in_thread
from quinion.ingest.policies import KnowledgeBase
from quinion.model.policy import Revision
from quinion.model.revisions import status_on
from quinion.servers.policy_kb.answers import Policies, PolicyEntry, RevisionEntry, Revisions
from quinion.servers.policy_kb.changes import summarize_changes
from quinion.servers.response_size import how_many_fit


async def list_policies(knowledge: KnowledgeBase) -> Policies:
    """List all registered policies."""
    registry = await knowledge.registry()
    policies = [PolicyEntry.of(policy) for policy in await in_thread(registry.list_policies)]
    count = how_many_fit(policies)
    return Policies(
        policy_count=len(policies), policies=policies[:count], truncated=count < len(policies)
    )


async def list_revisions(
    knowledge: KnowledgeBase, source: str, from_revision: int = 0, *, changes: bool = False
) -> Revisions:
    """List the revisions of a policy from an offset on, as many as fit into one answer.

    With `changes`, each has a summary of what changed since the one before.

    Raises:
        PolicyMissing: there is no such policy.
    """
    revisions = await find_revisions(knowledge, source)
    today = datetime.now(UTC).date()
    rest = [
        RevisionEntry.of(revision, status_on(revision, revisions, today))
        for revision in revisions[from_revision:]
    ]
    if changes:
        await _add_changes(knowledge, revisions[from_revision:], rest)
    count = how_many_fit(rest)
    return Revisions(
        source=source,
        revision_count=len(revisions),
        revisions=rest[:count],
        next_revision=from_revision + count if count < len(rest) else None,
    )


async def _add_changes(
    knowledge: KnowledgeBase, revisions: Sequence[Revision], entries: list[RevisionEntry]
) -> None:
    """Add the changes of revisions, newest first, to their entries, up to the answer's size."""
    for place, revision in enumerate(revisions):
        found = await summarize_changes(knowledge, revision, revisions[place + 1 :])
        entries[place] = entries[place].model_copy(update={"changes": found})
        if how_many_fit(entries[: place + 1]) <= place:
            return


async def find_revisions(knowledge: KnowledgeBase, source: str) -> Sequence[Revision]:
    """Find the revisions of a policy, newest first.

    Raises:
        PolicyMissing: there is no such policy.
    """
    registry = await knowledge.registry()
    return await in_thread(registry.list_revisions, source)
