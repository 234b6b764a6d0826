"""Resolver of dates to revisions, for one policy or all of a registry."""

from datetime import date
from typing import Protocol

from quinion.model.policy import Revision
from quinion.model.revisions import Resolution, resolve


class RevisionReader(Protocol):
    """Read access to the revisions of a registry."""

    def list_revisions(self, source: str) -> list[Revision]:
        """All revisions of a policy."""
        ...

    def list_all_revisions(self) -> dict[str, list[Revision]]:
        """All revisions of every policy, in one snapshot."""
        ...


class EffectiveDateResolver:
    """Resolver of dates to revisions, for one policy or all. Stateless."""

    def __init__(self, registry: RevisionReader) -> None:
        self._registry = registry

    def resolve_for_policy(self, source: str, day: date) -> Resolution:
        """Resolve the day for one policy.

        Raises:
            PolicyMissing: there is no such policy.
            RegistryUnavailable: the registry does not answer.
        """
        return resolve(source, self._registry.list_revisions(source), day)

    def resolve_snapshot(self, day: date) -> dict[str, Resolution]:
        """Resolve the day for every policy, by source, in one snapshot.

        Raises:
            RegistryUnavailable: the registry does not answer.
        """
        by_source = self._registry.list_all_revisions()
        return {source: resolve(source, revisions, day) for source, revisions in by_source.items()}

    def get_revision_ids_for_date(self, day: date) -> dict[str, str]:
        """Map source to revision id, for policies with a revision in force on the day.

        Raises:
            RegistryUnavailable: the registry does not answer.
        """
        return {
            source: resolution.revision.revision_id
            for source, resolution in self.resolve_snapshot(day).items()
            if resolution.revision
        }
