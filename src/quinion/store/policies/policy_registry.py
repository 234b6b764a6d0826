"""The policy registry: the source of truth for which text of a policy holds when.

The rules are those of `model.revisions`, the keeping is an adapter's; this is where they
meet, so that both adapters answer alike. As of the adapters, each call is atomic and may
come from any thread, and a refused one changes nothing. Any call raises
RegistryUnavailable; when a connection breaks during a change, the change may have been
made all the same, so look before trying again.

Policies are neither renamed nor deleted: the contract has neither, and a title is written
on every chunk.
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
    plan_update,
    resolve,
)
from quinion.store.policies.base import Planner, PolicyStorage


class PolicyRegistry:
    """Policies and their revisions, wherever they are kept.

    What is asked of a source that is not registered raises PolicyMissing, and of a revision that
    it does not have RevisionMissing.
    """

    def __init__(self, storage: PolicyStorage) -> None:
        self._storage = storage

    def create_policy(self, draft: PolicyDraft) -> Policy:
        """Register a policy.

        Raises:
            PolicyExists: its source is registered already.
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
        """Register a revision as `processing`; the plan's `others` have given way to it.

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
        """The revisions of every policy, newest first, by source, as of one moment."""
        found = self._storage.read_revisions()
        return {source: newest_first(found[source]) for source in sorted(found)}

    def get_effective_revision(self, source: str, day: date) -> Revision | None:
        """The revision in force on a day; `EffectiveDateResolver` also says why there is none."""
        return resolve(source, self._read(source), day).revision

    def edit_revision(self, source: str, revision_id: str, edit: RevisionEdit) -> Plan:
        """Change label, dates or notes.

        Raises:
            InvalidInput, RevisionOverlap: see `plan_edit`.
        """
        return self._change(source, lambda known: plan_edit(source, known, revision_id, edit))

    def update_revision(self, source: str, revision_id: str, update: RevisionUpdate) -> Revision:
        """Record how ingestion went, and return the revision as it is now."""
        plan = self._change(source, lambda known: plan_update(source, known, revision_id, update))
        return plan.revision

    def delete_revision(self, source: str, revision_id: str) -> Revision:
        """Take a revision out, and return what it was.

        Raises:
            SoleRevision: it is the only active one.
        """
        plan = self._change(source, lambda known: plan_deletion(source, known, revision_id))
        return plan.revision

    def ping(self) -> None:
        """Do nothing, if the registry answers."""
        self._storage.read_policies("")

    def close(self) -> None:
        """Let go of files and connections."""
        self._storage.close()

    def _read(self, source: str) -> list[Revision]:
        found = self._storage.read_revisions(_check_encodable(source))
        if source not in found:
            raise _policy_missing(source)
        return found[source]

    def _change(self, source: str, planner: Planner, now: datetime | None = None) -> Plan:
        plan = self._storage.change(_check_encodable(source), planner, now or _now())
        if plan is None:
            raise _policy_missing(source)
        return plan


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _check_encodable(source: str) -> str:
    """Text that is not Unicode names no policy, and no adapter could ask for it."""
    try:
        source.encode()
    except UnicodeEncodeError as error:
        raise _policy_missing(source) from error
    return source


def _policy_missing(source: str) -> PolicyMissing:
    return PolicyMissing(f"No policy {source!r} is registered. Check the source, or create it.")
