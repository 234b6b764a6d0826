"""Knowledge base: the registry of revisions and the store of their chunks, kept consistent.

The registry may be in Redis, and other programs may write to it. Registry and store therefore
cannot change in one transaction. The registry is the source of truth, and the store follows it.

- Before every search, `sync` updates the dates and labels on chunks from the registry. A key per
  revision in the store's key-value table records the values that its chunks have.
- An operation that changes both sides first marks the revision as busy. If the process dies,
  `_recover` sets the registry's chunk count of busy revisions at the next start.
"""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime

import anyio

from quinion.concurrency import KeyedLock, in_thread
from quinion.engine import Engine
from quinion.errors import PolicyProblem, RevisionMissing
from quinion.model.policy import (
    PolicyDraft,
    Revision,
    RevisionDraft,
    RevisionEdit,
    RevisionStatus,
    RevisionUpdate,
)
from quinion.model.record import Hit
from quinion.model.revisions import Plan, latest_effective, resolve
from quinion.search import semantic
from quinion.search.query import check_query
from quinion.servers.policy_kb.records import (
    CHUNKS,
    Key,
    filter_in_force,
    filter_sources,
    registry_metadata,
    select_revision,
)
from quinion.store.collections import Write
from quinion.store.filters import all_of
from quinion.store.policies import PolicyRegistry

log = logging.getLogger(__name__)

SYNCED_PREFIX, BUSY_PREFIX = "policy followed ", "policy busy "
"""Prefixes of keys in the store's key-value table."""


class KnowledgeBase:
    """Policies, their revisions, and the chunks of the revisions."""

    def __init__(self, engine: Engine, registry: PolicyRegistry) -> None:
        self.engine = engine
        self._registry = registry
        self._sync_lock = anyio.Lock()
        self._locks = KeyedLock()
        self._busy_keys: set[str] = set()
        self._recovered = False

    async def registry(self) -> PolicyRegistry:
        """Return the registry, after recovery from an earlier crash or failure.

        Raises:
            RegistryUnavailable, StoreUnavailable: the registry or the store fails.
        """
        if not self._recovered:
            # Before the lock, so that concurrent calls time out together when the registry
            # hangs, not one after the other.
            await in_thread(self._registry.ping)
            async with self._sync_lock:
                if not self._recovered:
                    await self._recover()
                    self._recovered = True
        return self._registry

    async def search(
        self, query: str, limit: int, sources: Sequence[str], day: date | None
    ) -> list[Hit]:
        """Search chunks by meaning.

        `sources` limits the search to these policies, `day` to the revisions in force on it.

        Raises:
            PolicyMissing: one of the sources is not registered.
        """
        check_query(query)
        registry = await self.registry()
        for source in sources:
            await in_thread(registry.get_policy, source)
        where = filter_sources(sources) if sources else None
        by_source = await self.sync()
        if day is not None:
            found = (
                resolve(source, revisions, day).revision for source, revisions in by_source.items()
            )
            in_force = {(r.source, r.revision_id) for r in found if r}
            if not in_force:
                return []
            where = all_of(where, filter_in_force(day, in_force))
        engine = self.engine
        nearest = await semantic.search(
            engine.collections, engine.embedder, CHUNKS, query, limit, where
        )
        return nearest.hits

    async def find_revision(self, source: str, revision_id: str | None) -> Revision:
        """Find a revision by id; without an id, the one in force today or else the latest one
        that was in force.

        Raises:
            PolicyMissing, RevisionMissing: there is no such policy or revision.
        """
        registry = await self.registry()
        if revision_id is not None:
            return await in_thread(registry.get_revision, source, revision_id)
        revisions = await in_thread(registry.list_revisions, source)
        found = latest_effective(revisions, datetime.now(UTC).date())
        if found is None:
            raise RevisionMissing(
                f"{source} has no revision that is or was in force. Ingest one, or name one."
            )
        return found

    async def find_in_force(self, source: str, day: date) -> Revision:
        """Find the revision whose text was in force on a day.

        Raises:
            PolicyMissing: there is no such policy.
            RevisionMissing: no text of the policy was in force on the day.
        """
        registry = await self.registry()
        revisions = await in_thread(registry.list_revisions, source)
        found = resolve(source, revisions, day)
        if found.revision:
            return found.revision
        why = ""
        if found.unready:
            why = f" {found.unready.revision_id} has that day, and its text is not ingested."
        raise RevisionMissing(
            f"No text of {source} was in force on {day}.{why} "
            "list_policy_revisions lists the dates of each."
        )

    async def create_policy(self, draft: PolicyDraft) -> None:
        """Register a policy."""
        registry = await self.registry()
        await in_thread(registry.create_policy, draft)

    async def create_revision(self, source: str, draft: RevisionDraft) -> Plan:
        """Register a revision, and update the chunk dates of the revisions that it supersedes."""
        registry = await self.registry()
        plan = await in_thread(registry.create_revision, source, draft)
        await self.sync()
        return plan

    async def edit_revision(self, source: str, revision_id: str, edit: RevisionEdit) -> Plan:
        """Change a revision and the dates on its chunks."""
        registry = await self.registry()
        plan = await in_thread(registry.edit_revision, source, revision_id, edit)
        await self.sync()
        return plan

    async def remove_chunks(self, source: str, revision_id: str) -> int:
        """Delete the revision's chunks and return their number. The registry entry stays, with
        a chunk count of 0."""
        registry = await self.registry()
        selector = select_revision(source, revision_id)
        async with self.mark_busy((source, revision_id)):
            count = await self.engine.collections.count(selector)
            # Registry first: if it fails, the store is unchanged.
            try:
                await in_thread(
                    registry.update_revision, source, revision_id, RevisionUpdate(chunk_count=0)
                )
            except PolicyProblem:
                log.info("%r %r is not registered; its chunks are removed", source, revision_id)
            await self.engine.collections.delete([selector])
        return count

    async def delete_revision(self, source: str, revision_id: str) -> Revision:
        """Delete a revision and its chunks."""
        registry = await self.registry()
        async with self.mark_busy((source, revision_id)):
            deleted = await in_thread(registry.delete_revision, source, revision_id)
            await self.engine.collections.delete([select_revision(source, revision_id)])
        return deleted

    async def sync(self) -> dict[str, list[Revision]]:
        """Update the dates and labels on chunks that differ from the registry.

        Returns the revisions of every policy by source, as of this check.
        """
        await self.registry()
        by_source, stale = await in_thread(self._find_stale)
        if stale:
            async with self._sync_lock:
                by_source, stale = await in_thread(self._find_stale)
                await self.write_registry_metadata(stale)
        return by_source

    async def write_registry_metadata(self, revisions: Sequence[Revision]) -> None:
        """Write the registry's dates and labels to the chunks of these revisions."""

        def set_dates(write: Write) -> None:
            for revision in revisions:
                selector = select_revision(revision.source, revision.revision_id)
                write.update_metadata(selector, registry_metadata(revision))
                mark_synced(write, revision)

        await self.engine.collections.write(set_dates)

    def _find_stale(self) -> tuple[dict[str, list[Revision]], list[Revision]]:
        """List all revisions by source, and those whose chunks have stale dates or labels."""
        values = self.engine.store.values(SYNCED_PREFIX)
        by_source = self._registry.list_all_revisions()
        stale = [
            revision
            for revisions in by_source.values()
            for revision in revisions
            if revision.chunk_count and values.get(_synced_key(revision)) != _synced_value(revision)
        ]
        return by_source, stale

    @asynccontextmanager
    async def mark_busy(self, key: Key) -> AsyncIterator[None]:
        """Mark a revision as busy while its registry entry and chunks change; one at a time.

        A failure inside is repaired at the next use, a crash at the next start.
        """
        mark = _busy_key(*key)
        async with self._locks.hold(key):
            self._busy_keys.add(mark)
            try:
                await self.engine.collections.write(lambda write: write.set_value(mark, "busy"))
                yield
                await self._clear(mark)
            except BaseException:
                self._recovered = False
                raise
            finally:
                self._busy_keys.discard(mark)

    async def _recover(self) -> None:
        """Recount the chunks of revisions that an unfinished operation left busy."""
        values = await in_thread(self.engine.store.values, BUSY_PREFIX)
        by_source = await in_thread(self._registry.list_all_revisions)
        for revision in (r for revisions in by_source.values() for r in revisions):
            busy = _busy_key(revision.source, revision.revision_id)
            if busy in values and busy not in self._busy_keys:
                await self.recount_chunks(revision)
                await self._clear(busy)

    async def _clear(self, key: str) -> None:
        await self.engine.collections.write(lambda write: write.delete_value(key))

    async def recount_chunks(self, revision: Revision) -> None:
        """Set the registry's chunk count of the revision to the number of stored chunks."""
        count = await self.engine.collections.count(
            select_revision(revision.source, revision.revision_id)
        )
        if count == revision.chunk_count:
            return
        log.warning(
            "corrected the chunk count of %s from %s to %d",
            revision.revision_id,
            revision.chunk_count,
            count,
        )
        update = RevisionUpdate(chunk_count=count)
        if not count:
            # The registry recorded an ingestion that the store did not commit.
            update = RevisionUpdate(RevisionStatus.PROCESSING, chunk_count=0, ingested_at=None)
        await in_thread(
            self._registry.update_revision, revision.source, revision.revision_id, update
        )


def mark_synced(write: Write, revision: Revision) -> None:
    """Record that the revision's chunks have its current dates and label."""
    write.set_value(_synced_key(revision), _synced_value(revision))


def _synced_key(revision: Revision) -> str:
    return f"{SYNCED_PREFIX}{revision.source} {revision.revision_id}"


def _synced_value(revision: Revision) -> str:
    return " ".join(str(number) for number in registry_metadata(revision).values())


def _busy_key(source: str, revision_id: str) -> str:
    return f"{BUSY_PREFIX}{source} {revision_id}"
