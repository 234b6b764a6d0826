"""Policy registry: the source of truth for which text of a policy is in force when.

It combines the rules of `model.revisions` with a storage adapter, so both adapters give the same
answers. Each call is atomic and thread-safe, and a rejected one changes nothing. Any call may
raise RegistryUnavailable. If a connection breaks during a change, the change may have been made:
read before a retry.

Policies are not renamed: every chunk contains the title.
"""

from datetime import UTC, date, datetime

from quinion.errors import PolicyExists, PolicyMissing
from quinion.model.policy import (
    Policy,
    PolicyDraft,
    Revision,
    RevisionDraft,
    RevisionEdit,
    RevisionUpdate,
)
from quinion.model.revisions import (
    Plan,
    find_revision,
    newest_first,
    plan_creation,
    plan_deletion,
    plan_edit,
    plan_publication,
    plan_undo,
    plan_update,
    supersede,
)
from quinion.store.policies.base import Planner, PolicyStorage


class PolicyRegistry:
    """Registered policies and their revisions.

    Methods raise PolicyMissing for a source that is not registered, and RevisionMissing for a
    revision that the policy does not have.
    """

    def __init__(self, storage: PolicyStorage) -> None:
        self._storage = storage

    def create_policy(self, draft: PolicyDraft) -> Policy:
        """Register a policy.

        Raises:
            PolicyExists: its source is already registered.
        """
        policy = draft.register(_now())
        if not self._storage.add_policy(policy):
            raise PolicyExists(f"A policy {draft.source} is registered already.")
        return policy

    def get_policy(self, source: str) -> Policy:
        """One policy."""
        for policy in self._storage.read_policies(_check_encodable(source)):
            return policy
        raise _policy_missing(source)

    def list_policies(self) -> list[Policy]:
        """All policies, by source."""
        return sorted(self._storage.read_policies(), key=lambda policy: policy.source)

    def create_revision(self, source: str, draft: RevisionDraft) -> Plan:
        """Register a revision as `processing`; the plan's `others` were ended by it.

        Raises:
            InvalidInput, RevisionExists, RevisionOverlap: see `plan_creation`.
        """
        now = _now()
        return self._change(source, lambda known: plan_creation(source, known, draft, now), now)

    def get_revision(self, source: str, revision_id: str) -> Revision:
        """One revision."""
        return find_revision(source, self._read(source), revision_id)

    def list_revisions(self, source: str) -> list[Revision]:
        """The revisions of a policy, newest first."""
        return newest_first(self._read(source))

    def list_all_revisions(self) -> dict[str, list[Revision]]:
        """The revisions of every policy, newest first, by source, in one snapshot.

        An invalid one is left out with a warning in the log, so that it does not affect other
        policies; the other methods raise RegistryUnavailable.
        """
        found = self._storage.read_revisions()
        return {source: newest_first(supersede(found[source])) for source in sorted(found)}

    def edit_revision(self, source: str, revision_id: str, edit: RevisionEdit) -> Plan:
        """Change the label, dates or notes of a revision.

        Raises:
            InvalidInput, RevisionOverlap: see `plan_edit`.
        """
        return self._change(source, lambda known: plan_edit(source, known, revision_id, edit))

    def update_revision(self, source: str, revision_id: str, update: RevisionUpdate) -> Revision:
        """Record the result of ingestion, and return the new state of the revision."""
        plan = self._change(source, lambda known: plan_update(source, known, revision_id, update))
        return plan.revision

    def delete_revision(self, source: str, revision_id: str) -> Revision:
        """Delete a revision, and return its last state.

        Raises:
            SoleRevision: it is the only active one.
        """
        plan = self._change(source, lambda known: plan_deletion(source, known, revision_id))
        return plan.revision

    def publish_revision(self, source: str, revision_id: str, start: date | None = None) -> Plan:
        """Put a draft in force, from its planned day on or from `start`.

        Raises:
            InvalidInput, RevisionOverlap: see `plan_publication`.
        """
        return self._change(
            source, lambda known: plan_publication(source, known, revision_id, start)
        )

    def undo_revision(self, source: str, revision_id: str) -> Plan:
        """Delete a revision, and reopen the one that it closed.

        Raises:
            SoleRevision: it is the only active one, and none is reopened.
        """
        return self._change(source, lambda known: plan_undo(source, known, revision_id))

    def delete_policy(self, source: str) -> None:
        """Delete a policy with all its revisions."""
        if not self._storage.delete_policy(_check_encodable(source)):
            raise _policy_missing(source)

    def ping(self) -> None:
        """Check that the registry answers."""
        self._storage.read_policies("")

    def close(self) -> None:
        """Close files and connections."""
        self._storage.close()

    def _read(self, source: str) -> list[Revision]:
        found = self._storage.read_revisions(_check_encodable(source))
        if source not in found:
            raise _policy_missing(source)
        return supersede(found[source])

    def _change(self, source: str, planner: Planner, now: datetime | None = None) -> Plan:
        plan = self._storage.change(_check_encodable(source), planner, now or _now())
        if plan is None:
            raise _policy_missing(source)
        return plan


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _check_encodable(source: str) -> str:
    """Reject text that can't be encoded: no policy has such a source, and no adapter accepts it."""
    try:
        source.encode()
    except UnicodeEncodeError as error:
        raise _policy_missing(source) from error
    return source


def _policy_missing(source: str) -> PolicyMissing:
    return PolicyMissing(f"No policy {source!r} is registered. Check the source, or create it.")
