"""What the policy registry asks of the place where it is kept.

An adapter keeps policies and revisions and knows no rule about them. Calls block and may
come from any thread. Each is atomic, beside other threads and other processes too: a
change happens whole or not at all, and a read sees one moment.

All raise RegistryUnavailable when the place does not answer or holds an entry that makes
no sense. Such an entry is named, never left out: an answer without it could be the wrong
revision.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from quinion.model.policy import Policy, Revision
from quinion.model.revisions import Plan

Planner = Callable[[Sequence[Revision]], Plan]


class PolicyStorage(Protocol):
    """One shelf of revisions for each policy."""

    def add_policy(self, policy: Policy) -> bool:
        """Keep a new policy; False, and nothing done, where its source is taken."""
        ...

    def read_policies(self, source: str | None = None) -> list[Policy]:
        """All policies, or the one of that source, if there is one."""
        ...

    def read_revisions(self, source: str | None = None) -> dict[str, list[Revision]]:
        """The revisions of all policies or of one, by source.

        A policy without revisions has an empty list; one that is not registered has no entry.
        """
        ...

    def change(self, source: str, planner: Planner, now: datetime) -> Plan | None:
        """Plan from the revisions that are there, and write what the plan says.

        Nothing can change between the two; where others write at once, the planner may be
        called again. What it raises is passed on, with nothing written. None: no such policy.
        """
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...
