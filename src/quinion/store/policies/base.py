"""Storage protocol of the policy registry.

An adapter stores policies and revisions, without any rules about them. All methods block and are
thread-safe. Each is atomic, also with respect to other processes: a change is made completely or
not at all, and a read sees one snapshot.

All methods raise RegistryUnavailable if the storage does not answer or has an invalid entry. The
error names the entry. Invalid entries are never skipped: without one, an answer could be the
wrong revision.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from quinion.model.policy import Policy, Revision
from quinion.model.revisions import Plan

Planner = Callable[[Sequence[Revision]], Plan]


class PolicyStorage(Protocol):
    """Storage of policies, each with its revisions."""

    def add_policy(self, policy: Policy) -> bool:
        """Add a new policy; return false, without any change, if its source is taken."""
        ...

    def read_policies(self, source: str | None = None) -> list[Policy]:
        """Read all policies, or the one with that source, if there is one.

        Of all, an invalid entry is left out with a warning in the log.
        """
        ...

    def read_revisions(self, source: str | None = None) -> dict[str, list[Revision]]:
        """Read the revisions of all policies or of one, by source.

        A policy without revisions has an empty list; one that is not registered has no entry. Of
        all policies, an invalid revision is left out with a warning in the log.
        """
        ...

    def change(self, source: str, planner: Planner, now: datetime) -> Plan | None:
        """Call the planner with the current revisions, and write its plan.

        Both happen atomically; with concurrent writers the planner may be called again. Its
        exceptions are propagated, and nothing is written then. Returns `None` if there is no such
        policy.
        """
        ...

    def delete_policy(self, source: str) -> bool:
        """Delete a policy with all its revisions; return false if there is no such policy."""
        ...

    def close(self) -> None:
        """Close files and connections."""
        ...
