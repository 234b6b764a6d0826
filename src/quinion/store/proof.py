"""Do the ledger and Chroma have the same records, and is each what was written?

Each record is in both. Where the two differ, or one lacks it, the checksum that the ledger keeps
says which copy is whole.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, islice

import numpy as np

from quinion.model.record import Record
from quinion.store.audit import Audit, Kept
from quinion.store.checksum import sum_record
from quinion.store.chroma import Chroma
from quinion.store.rows import Vectors

STEP = 1_000
MOST_NAMED = 10
"""Records that are named where the same is amiss with many."""


class Fault(StrEnum):
    """What can be amiss, in words that follow the record's name."""

    DAMAGED = "the ledger's copy is damaged, and Chroma's is whole"
    UNSUMMED = "its checksum is damaged; its two copies agree"
    BEYOND_REPAIR = "the ledger's copy is damaged, and Chroma has no whole one"
    NOT_IN_CHROMA = "Chroma does not have it"
    NOT_IN_LEDGER = "the ledger does not have it"
    NO_VECTOR = "Chroma can't read it"
    DIFFERENT = "Chroma's copy is not what was written"
    FACTS = "the facts do not say what the records say"
    CODES = "the codes are not those of the vectors"


OF_LEDGER = frozenset({Fault.DAMAGED, Fault.UNSUMMED, Fault.FACTS, Fault.CODES})
"""After these facts and codes are to be made anew."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault of one record; of a collection as a whole where `id` is empty."""

    collection: str
    id: str
    fault: Fault

    @property
    def can_be_mended(self) -> bool:
        """Whether there is a whole copy to mend it from."""
        return self.fault is not Fault.BEYOND_REPAIR


@dataclass(frozen=True, slots=True)
class Survey:
    """What a first look at a collection brought; while it is being written to, some of it may have
    been seen half-way."""

    collection: str
    records: int = 0
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Proof:
    """What was looked at, what is amiss, and what of that was mended."""

    records: int
    problems: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()


def find_faults(audit: Audit, chroma: Chroma, collection: str) -> Iterator[Finding]:
    """All that is amiss with a collection, in no particular order.

    Raises:
        StoreUnavailable: one of the two can't be read.
    """
    damaged = False
    for step in audit.read(collection):
        for finding in compare(chroma, collection, step):
            damaged = damaged or finding.fault in (Fault.DAMAGED, Fault.BEYOND_REPAIR)
            yield finding
    for ids in chroma.pages_of_ids(collection):
        ours = {kept.id for kept in audit.read_some(collection, ids)}
        yield from (Finding(collection, id_, Fault.NOT_IN_LEDGER) for id_ in set(ids) - ours)
    if not damaged:  # else they can't agree
        if not audit.facts_agree(collection):
            yield Finding(collection, "", Fault.FACTS)
        if not audit.codes_agree(collection):
            yield Finding(collection, "", Fault.CODES)


def look_again(
    audit: Audit,
    chroma: Chroma,
    collection: str,
    findings: Sequence[Finding],
    passing: Callable[[Record], bool] = lambda _: False,
) -> Iterator[Finding]:
    """Those of the findings that still hold: what was just being written may be whole by now.

    `passing` says of a record that somebody is writing or removing it at this moment.
    """
    ids = sorted({finding.id for finding in findings if finding.id})
    for some in (ids[start : start + STEP] for start in range(0, len(ids), STEP)):
        kept = audit.read_some(collection, some)
        moving = {one.id for one in kept if one.record and passing(one.record)}
        yield from compare(chroma, collection, [one for one in kept if one.id not in moving])
        missing = sorted(set(some) - {one.id for one in kept})
        theirs, lost = chroma.get_sound(collection, missing) if missing else ({}, [])
        found = [id_ for id_, (record, _) in theirs.items() if not passing(record)]
        yield from (Finding(collection, id_, Fault.NOT_IN_LEDGER) for id_ in (*found, *lost))
    for finding in findings:
        if (finding.fault is Fault.FACTS and not audit.facts_agree(collection)) or (
            finding.fault is Fault.CODES and not audit.codes_agree(collection)
        ):
            yield finding


def compare(chroma: Chroma, collection: str, ours: Sequence[Kept]) -> Iterator[Finding]:
    """What is amiss with these records of the ledger, or with Chroma's copies of them."""
    theirs, lost = chroma.get_sound(collection, [kept.id for kept in ours])
    unread = set(lost)
    for kept in ours:
        fault = _judge(kept, theirs.get(kept.id), kept.id in unread)
        if fault:
            yield Finding(collection, kept.id, fault)


def _judge(ours: Kept, theirs: tuple[Record, Vectors] | None, unread: bool) -> Fault | None:
    same = theirs is not None and _are_same(ours, *theirs)
    if ours.is_whole:
        if same:
            return None
        if theirs is None:
            return Fault.NO_VECTOR if unread else Fault.NOT_IN_CHROMA
        return Fault.DIFFERENT
    if same:
        return Fault.UNSUMMED
    if theirs is not None and ours.checksum == sum_record(*theirs):
        return Fault.DAMAGED
    return Fault.BEYOND_REPAIR


def _are_same(ours: Kept, record: Record, vector: Vectors) -> bool:
    return (
        ours.record is not None
        and ours.vector is not None
        and ours.record.text == record.text
        and dict(ours.record.metadata) == dict(record.metadata)
        and np.array_equal(ours.vector, vector)
    )


def word(findings: Iterable[Finding]) -> list[str]:
    """A line for each finding; for very many of one kind, some of them and how many more."""
    lines = []
    ordered = sorted(findings, key=lambda one: (one.collection, one.fault, one.id))
    for (collection, fault), group in groupby(ordered, lambda one: (one.collection, one.fault)):
        named = [one.id for one in islice(group, MOST_NAMED)]
        lines += [f"{collection}: {f'{id_}: ' if id_ else ''}{fault}" for id_ in named]
        if more := sum(1 for _ in group):
            lines.append(f"{collection}: {more:,} more: {fault}")
    return lines
