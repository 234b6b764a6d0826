"""Migration of a store and its policy registry into another place, without embedding anything.

A migration that is interrupted is repeated: what the target has already is not copied again. Until
the end, a mark in the target says that it is not complete, and no engine opens it. At the end all
records are compared with their vectors.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

import numpy as np

from quinion.errors import InvalidInput, StoreUnavailable
from quinion.model.policy import Revision
from quinion.model.revisions import Plan
from quinion.store.base import Selector, VectorStore
from quinion.store.policies.base import PolicyStorage

MIGRATING = "migrating"
"""Key of the mark in a store into which a migration is not complete."""
STEP = 500
"""Records per transaction."""
PAGE = 5_000

_NEVER = datetime.min.replace(tzinfo=UTC)

Report = Callable[[str, int, int], None]
"""Called with a collection, the number of its records that are copied, and that of all."""


@dataclass(slots=True)
class MigrationReport:
    """Result of a migration: records by collection, key-values and policies."""

    collections: dict[str, int] = field(default_factory=dict)
    values: int = 0
    policies: int = 0


def migrate(source: VectorStore, target: VectorStore, report: Report) -> MigrationReport:
    """Copy all collections and key-values into an empty store, and compare them.

    Raises:
        InvalidInput: the target has other data.
        StoreUnavailable: the copy differs, or a store does not answer.
    """
    _mark(target)
    done = MigrationReport()
    for name in source.collections():
        ids = _list_ids(source, name)
        done.collections[name] = len(ids)
        known = set(_list_ids(target, name))
        missing = [id_ for id_ in ids if id_ not in known]
        copied = len(ids) - len(missing)
        for some in _split(missing, STEP):
            records, vectors = source.get_with_vectors(Selector.by_ids(name, some))
            with target.transaction() as transaction:
                transaction.upsert(name, records, vectors, source.model(name))
            copied += len(some)
            report(name, copied, len(ids))
    values = dict(source.values())
    with target.transaction() as transaction:
        for key, value in values.items():
            transaction.set_value(key, value)
    done.values = len(values)
    _compare(source, target)
    return done


def finish(target: VectorStore) -> None:
    """Remove the mark: the target is complete."""
    with target.transaction() as transaction:
        transaction.delete_value(MIGRATING)


def copy_policies(source: PolicyStorage, target: PolicyStorage) -> int:
    """Copy all policies with their revisions; return the number of policies.

    Raises:
        StoreUnavailable: the copy differs.
    """
    policies = source.read_policies()
    revisions = source.read_revisions()
    for policy in policies:
        target.add_policy(policy)
        if wanted := revisions[policy.source]:
            plan = Plan(wanted[0], tuple(wanted[1:]))
            target.change(policy.source, partial(_choose, plan), policy.updated_at or _NEVER)
    found = target.read_revisions()
    for policy in policies:
        ours, theirs = (sorted(one[policy.source], key=repr) for one in (revisions, found))
        if ours != theirs:
            raise _differs(f"the revisions of {policy.source}")
    return len(policies)


def check_migrated(store: VectorStore) -> None:
    """Refuse a store into which a migration was interrupted.

    A store that can't be read is not refused here: the next call reports it.

    Raises:
        StoreUnavailable: it was.
    """
    marked = False
    with suppress(StoreUnavailable):
        marked = bool(store.values(MIGRATING))
    if marked:
        raise StoreUnavailable(
            "The store has only a part of the documents, because a migration into it was "
            "interrupted. Run quinion migrate again."
        )


def _mark(target: VectorStore) -> None:
    """Mark the target as incomplete.

    Raises:
        InvalidInput: it is not empty, and no interrupted migration has filled it.
    """
    if target.values(MIGRATING):
        return
    if target.collections():
        raise InvalidInput(
            "The target already has documents, and a migration does not mix two stores. Migrate "
            "into an empty database or home."
        )
    with target.transaction() as transaction:
        transaction.set_value(MIGRATING, "1")


def _list_ids(store: VectorStore, collection: str) -> list[str]:
    """List the ids of all records, in the order of their insertion."""
    ids: list[str] = []
    while page := store.get_newest(collection, len(ids), PAGE):
        ids += [one.id for one in page]
    return ids[::-1]


def _compare(source: VectorStore, target: VectorStore) -> None:
    """Compare all records with their vectors, and the indexes of the target with them.

    Raises:
        StoreUnavailable: something differs.
    """
    for name in source.collections():
        ids = _list_ids(source, name)
        if _list_ids(target, name) != ids:
            raise _differs(f"the records of {name}")
        for some in _split(ids, STEP):
            selector = Selector.by_ids(name, some)
            (ours, our_vectors), (theirs, their_vectors) = (
                one.get_with_vectors(selector) for one in (source, target)
            )
            if ours != theirs or not np.array_equal(our_vectors, their_vectors):
                raise _differs(f"records of {name}")
        if ids and source.model(name) != target.model(name):
            raise _differs(f"the embedding model of {name}")
        if problems := target.check(name).problems:
            raise _differs(problems[0])
    values = {key: value for key, value in target.values().items() if key != MIGRATING}
    if values != dict(source.values()):
        raise _differs("the key-value table")


def _differs(what: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"The copy differs from the original ({what}), which may have been changed meanwhile. Stop "
        "what uses either, empty the target, and run quinion migrate again."
    )


def _choose(plan: Plan, _: Sequence[Revision]) -> Plan:
    return plan


def _split(some: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (some[start : start + size] for start in range(0, len(some), size))
