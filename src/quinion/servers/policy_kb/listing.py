"""Lists of policies and of their revisions."""

from collections.abc import Sequence

from quinion.concurrency import in_thread
from quinion.ingest.policies import KnowledgeBase
from quinion.model.policy import Revision
from quinion.servers.policy_kb.answers import Policies, PolicyEntry, RevisionEntry, Revisions
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
    knowledge: KnowledgeBase, source: str, from_revision: int = 0
) -> Revisions:
    """List the revisions of a policy from an offset on, as many as fit into one answer.

    Raises:
        PolicyMissing: there is no such policy.
    """
    revisions = await find_revisions(knowledge, source)
    rest = [RevisionEntry.of(revision) for revision in revisions[from_revision:]]
    count = how_many_fit(rest)
    return Revisions(
        source=source,
        revision_count=len(revisions),
        revisions=rest[:count],
        next_revision=from_revision + count if count < len(rest) else None,
    )


async def find_revisions(knowledge: KnowledgeBase, source: str) -> Sequence[Revision]:
    """Find the revisions of a policy, newest first.

    Raises:
        PolicyMissing: there is no such policy.
    """
    registry = await knowledge.registry()
    return await in_thread(registry.list_revisions, source)
