"""Knowledge base: the registry of revisions and the store of their chunks, kept consistent.

The registry may be in Redis, and other programs may write to it. Registry and store therefore
cannot change in one transaction. The registry is the source of truth, and the store follows it.

- Before every search, `sync` updates the dates and labels on chunks from the registry. A key per
  revision in the store's key-value table records the values that its chunks have.
- An operation that changes both sides first marks the revision as busy. If the process dies,
  `_recover` sets the registry's chunk count of busy revisions: at the next start, or soon in
  another engine that shares the store.
"""

import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

import anyio

from quinion.concurrency import in_thread
from quinion.errors import PolicyProblem
from quinion.ingest.engine_resources import Resources
from quinion.model.policy import (
    Policy,
    PolicyDraft,
    Revision,
    RevisionDraft,
    RevisionEdit,
    RevisionStatus,
    RevisionUpdate,
)
from quinion.model.record import Metadata, Record
from quinion.model.revisions import Plan
from quinion.model.section import SectionChunk
from quinion.store.base import Selector
from quinion.store.collections import Write
from quinion.store.locks import Key as LockKey
from quinion.store.policies import PolicyRegistry

log = logging.getLogger(__name__)

SYNCED_PREFIX, BUSY_PREFIX = "policy followed ", "policy busy "
"""Prefixes of keys in the store's key-value table."""
RECOVERY_S = 30.0
"""How often an engine looks for revisions that another engine left busy."""


Key = tuple[str, str]
"""Source of a policy and id of a revision."""


class PolicyRecords(Protocol):
    """Stored form of a policy's chunks, which the contract of the server prescribes."""

    CHUNKS: str

    def select_revision(self, source: str, revision_id: str) -> Selector:
        """Select all chunks of a revision."""
        ...

    def registry_metadata(self, revision: Revision) -> Metadata:
        """Return the chunk metadata that follows the registry."""
        ...

    def chunk_records(
        self, policy: Policy, revision: Revision, chunks: Sequence[SectionChunk], file_hash: str
    ) -> list[Record]:
        """Build the stored records of a revision's chunks, of a file with this content."""
        ...

    def to_chunk(self, record: Record) -> SectionChunk:
        """Restore a chunk from its stored record."""
        ...


class KnowledgeBase:
    """Policies, their revisions, and the chunks of the revisions."""

    def __init__(
        self, resources: Resources, registry: PolicyRegistry, records: PolicyRecords
    ) -> None:
        self.resources = resources
        self.records = records
        self._registry = registry
        self._locks = resources.locks
        self._recovering = anyio.Lock()
        self._recovered_at: float | None = None

    async def registry(self) -> PolicyRegistry:
        """Return the registry, after recovery from an earlier crash or failure.

        Raises:
            RegistryUnavailable, StoreUnavailable: the registry or the store fails.
        """
        if self._must_recover():
            # Before the lock, so that concurrent calls time out together when the registry
            # hangs, not one after the other.
            await in_thread(self._registry.ping)
            async with self._recovering:
                if self._must_recover():
                    await self._recover()
                    self._recovered_at = time.monotonic()
        return self._registry

    def _must_recover(self) -> bool:
        if self._recovered_at is None:
            return True
        is_old = time.monotonic() - self._recovered_at > RECOVERY_S
        return is_old and self._locks.are_shared

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
        selector = self.records.select_revision(source, revision_id)
        async with self.mark_busy((source, revision_id)):
            count = await self.resources.collections.count(selector)
            # Registry first: if it fails, the store is unchanged.
            try:
                await in_thread(
                    registry.update_revision, source, revision_id, RevisionUpdate(chunk_count=0)
                )
            except PolicyProblem:
                log.info("%r %r is not registered; its chunks are removed", source, revision_id)
            async with self.resources.kept.change(
                removed=await self.find_hash(source, revision_id)
            ):
                await self.resources.collections.delete([selector])
        return count

    async def delete_revision(self, source: str, revision_id: str) -> Revision:
        """Delete a revision and its chunks."""
        registry = await self.registry()
        async with self.mark_busy((source, revision_id)):
            deleted = await in_thread(registry.delete_revision, source, revision_id)
            async with self.resources.kept.change(
                removed=await self.find_hash(source, revision_id)
            ):
                await self.resources.collections.delete(
                    [self.records.select_revision(source, revision_id)]
                )
        return deleted

    async def find_hash(self, source: str, revision_id: str) -> list[str]:
        """The hash of the file that the revision's chunks are from; empty if it is not known."""
        selector = self.records.select_revision(source, revision_id)
        records = await self.resources.collections.get(selector.collection, where=selector.where)
        hashes = (record.metadata.get("file_hash") for record in records)
        return [str(one) for one in dict.fromkeys(hashes) if one]

    async def sync(self) -> dict[str, list[Revision]]:
        """Update the dates and labels on chunks that differ from the registry.

        Returns the revisions of every policy by source, as of this check.
        """
        await self.registry()
        by_source, stale = await in_thread(self._find_stale)
        if stale:
            async with self._locks.hold(("policy dates",)):
                by_source, stale = await in_thread(self._find_stale)
                await self.write_registry_metadata(stale)
        return by_source

    async def write_registry_metadata(self, revisions: Sequence[Revision]) -> None:
        """Write the registry's dates and labels to the chunks of these revisions."""

        def set_dates(write: Write) -> None:
            for revision in revisions:
                selector = self.records.select_revision(revision.source, revision.revision_id)
                write.update_metadata(selector, self.records.registry_metadata(revision))
                self.mark_synced(write, revision)

        await self.resources.collections.write(set_dates)

    def _find_stale(self) -> tuple[dict[str, list[Revision]], list[Revision]]:
        """List all revisions by source, and those whose chunks have stale dates or labels."""
        values = self.resources.store.values(SYNCED_PREFIX)
        by_source = self._registry.list_all_revisions()
        stale = [
            revision
            for revisions in by_source.values()
            for revision in revisions
            if revision.chunk_count
            and values.get(_synced_key(revision)) != self._synced_value(revision)
        ]
        return by_source, stale

    @asynccontextmanager
    async def mark_busy(self, key: Key) -> AsyncIterator[None]:
        """Mark a revision as busy while its registry entry and chunks change; one at a time.

        A failure inside is repaired at the next use, a crash at the next start.
        """
        mark = _busy_key(*key)
        async with self._locks.hold(_busy_lock(*key)):
            try:
                await self.resources.collections.write(lambda write: write.set_value(mark, "busy"))
                yield
                await self._clear(mark)
            except BaseException:
                self._recovered_at = None
                raise

    async def _recover(self) -> None:
        """Recount the chunks of revisions that an unfinished operation left busy."""
        values = await in_thread(self.resources.store.values, BUSY_PREFIX)
        if not values:
            return
        by_source = await in_thread(self._registry.list_all_revisions)
        for revision in (r for revisions in by_source.values() for r in revisions):
            if _busy_key(revision.source, revision.revision_id) in values:
                await self._recover_revision(revision.source, revision.revision_id)

    async def _recover_revision(self, source: str, revision_id: str) -> None:
        """Recount the chunks of a busy revision, unless its operation is still running."""
        mark = _busy_key(source, revision_id)
        async with self._locks.hold_if_free(_busy_lock(source, revision_id)) as is_held:
            if is_held and mark in await in_thread(self.resources.store.values, mark):
                revision = await in_thread(self._registry.get_revision, source, revision_id)
                await self.recount_chunks(revision)
                await self._clear(mark)

    async def _clear(self, key: str) -> None:
        await self.resources.collections.write(lambda write: write.delete_value(key))

    async def recount_chunks(self, revision: Revision) -> None:
        """Set the registry's chunk count of the revision to the number of stored chunks."""
        count = await self.resources.collections.count(
            self.records.select_revision(revision.source, revision.revision_id)
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

    def mark_synced(self, write: Write, revision: Revision) -> None:
        """Record that the revision's chunks have its current dates and label."""
        write.set_value(_synced_key(revision), self._synced_value(revision))

    def _synced_value(self, revision: Revision) -> str:
        metadata = self.records.registry_metadata(revision)
        return " ".join(str(number) for number in metadata.values())


def _synced_key(revision: Revision) -> str:
    return f"{SYNCED_PREFIX}{revision.source} {revision.revision_id}"


def _busy_lock(source: str, revision_id: str) -> LockKey:
    return "busy revision", source, revision_id


def _busy_key(source: str, revision_id: str) -> str:
    return f"{BUSY_PREFIX}{source} {revision_id}"
