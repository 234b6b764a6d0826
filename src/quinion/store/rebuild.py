"""`quinion rebuild`: a damaged store from what is intact in it and in its mirror, and the mirror
from the store, without embedding anything.

What is damaged is moved aside, never deleted. The caller holds the home's lock.
"""

import shutil
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np

from quinion.errors import InvalidInput, StoreUnavailable
from quinion.store.base import Selector, VectorStore
from quinion.store.chroma.importer import ImportReport, Required, import_chroma
from quinion.store.chroma.replicator import find_files, quarantine
from quinion.store.embedded.database import FILE
from quinion.store.embedded.legacy import adopt_ledger
from quinion.store.embedded.raw_reader import RawReader, RawRecord
from quinion.store.embedded.schema import VERSION, check_version
from quinion.store.embedded.store import EmbeddedStore
from quinion.store.embedded.vector_index import VECTORS
from quinion.store.factory import REBUILT, StorePlace, finish_rebuild, open_store

__all__ = ["ImportReport", "RebuildReport", "import_into", "rebuild"]


@dataclass(slots=True)
class RebuildReport:
    """What there is now, what was moved aside, what is lost, and what is still wrong."""

    records: int = 0
    aside: list[Path] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def rebuild(place: StorePlace) -> RebuildReport:
    """Rebuild the store if it is damaged, else its indexes; then the mirror.

    Raises:
        StoreUnavailable: neither the store nor the mirror can be read, or a newer quinion wrote
            the store.
        InvalidInput: the store is in memory.
    """
    if place.folder is None:
        raise InvalidInput("The store is in memory: there is nothing to rebuild.")
    adopt_ledger(place.home, place.folder, str(place.mirror))
    finish_rebuild(place.folder)
    _check_version(place.folder)
    report = RebuildReport()
    if damage := find_damage(place.folder):
        _salvage(place.folder, place, damage, report)
    else:
        _fill_if_empty(place.folder, place, report)
    if isinstance(place.target, Path) and find_files(place.target):
        report.aside.append(quarantine(place.target))
    with closing(EmbeddedStore(place.folder, mirrored=place.target is not None)) as store:
        for name in store.collections():
            store.rebuild_indexes(name)
    with closing(open_store(place)) as mirrored:
        for name in mirrored.collections():
            checked = mirrored.check(name, repair=True)
            report.records += checked.records
            report.problems += (*checked.problems, *checked.warnings)
    return report


def import_into(place: StorePlace, source: str, required: Required) -> ImportReport:
    """Import what another program wrote into the Chroma at `source`, a folder or an address.

    Raises:
        StoreUnavailable: it can't be read, or the store can't be written.
    """
    with closing(open_store(place)) as store:
        return import_chroma(store, source if "://" in source else Path(source), required)


def find_damage(folder: Path) -> str:
    """Why the store can't be relied on; empty: it can."""
    if not (folder / FILE).exists():
        return f"there is no {FILE} in {folder}" if any(folder.glob(f"*{VECTORS}")) else ""
    try:
        with closing(RawReader(folder)) as reader:
            checks = (reader.check(name) for name in reader.collections())
            damaged = (
                f"the record {one.id} is damaged" for one in chain(*(c.damaged for c in checks))
            )
            return next(chain(reader.find_damage(), damaged), "")
    except StoreUnavailable as error:
        return error.message.rstrip(".")


def _check_version(folder: Path) -> None:
    """Leave alone what a newer quinion wrote: it is not damaged.

    Raises:
        StoreUnavailable: it did.
    """
    version = 0
    with suppress(StoreUnavailable), closing(RawReader(folder)) as reader:
        if not reader.find_damage():
            version = reader.version()
    check_version(version, VERSION, folder)


def _fill_if_empty(folder: Path, place: StorePlace, report: RebuildReport) -> None:
    """Take from the mirror what a store without any record does not have: it was lost, unless it
    was deleted just now."""
    is_mirrored = place.target is not None
    if isinstance(place.target, Path) and not find_files(place.target):
        return
    with closing(EmbeddedStore(folder, mirrored=is_mirrored)) as store:
        if place.target is None or not _is_empty(store):
            return
        with closing(RawReader(folder)) as reader:
            deleted = reader.outbox()
        try:
            import_chroma(store, place.target, {}, deleted)
        except StoreUnavailable as error:
            report.lost.append(f"records that only the mirror had, if any ({error.message})")


def _is_empty(store: VectorStore) -> bool:
    return not any(store.count(Selector.everything(name)) for name in store.collections())


def _salvage(folder: Path, place: StorePlace, damage: str, report: RebuildReport) -> None:
    """Make another store from the intact records of this one and from the mirror, and move this
    one aside."""
    new = folder.with_name(f"{folder.name}{REBUILT}")
    shutil.rmtree(new, ignore_errors=True)
    salvaged = _Salvaged()
    with closing(EmbeddedStore(new, mirrored=place.target is not None)) as store:
        with suppress(StoreUnavailable), closing(RawReader(folder)) as reader:
            _copy_intact(reader, store, salvaged)
        _copy_from_mirror(place, store, salvaged)
        for name, id_ in salvaged.outbox:
            if id_:
                store.add_to_outbox(name, [id_])
        is_empty = _is_empty(store)
    if is_empty:
        shutil.rmtree(new)
        raise StoreUnavailable(
            f"Nothing can be rebuilt: the store is damaged ({damage}), and Chroma has nothing "
            "to rebuild it from. Restore a backup with quinion restore."
        )
    report.lost += (*_find_missing(new, salvaged), *salvaged.doubts)
    aside = folder.with_name(f"{folder.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    _move(folder, aside)
    report.aside.append(aside)
    finish_rebuild(folder)


@dataclass(slots=True)
class _Salvaged:
    """The damaged records of a store, and the ids of those that can't be read in it or in its
    mirror, by collection; what the mirror does not have yet; whether all records could be listed;
    and where more may be lost than can be named."""

    damaged: list[tuple[str, RawRecord]] = field(default_factory=list)
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    outbox: set[tuple[str, str]] = field(default_factory=set)
    complete: bool = False
    doubts: list[str] = field(default_factory=list)


def _copy_intact(reader: RawReader, store: VectorStore, salvaged: _Salvaged) -> None:
    is_readable = not reader.find_damage()
    with suppress(StoreUnavailable):
        salvaged.outbox = reader.outbox()
    with suppress(StoreUnavailable):
        for name, model in reader.collections().items():
            steps = (
                ((one, []) for one in reader.read(name)) if is_readable else reader.salvage(name)
            )
            for step, unreadable in steps:
                _write(store, name, model, [one for one in step if one.is_intact])
                salvaged.damaged += [(name, one) for one in step if not one.is_intact]
                salvaged.unreadable += [(name, id_) for id_ in unreadable]
        salvaged.complete = is_readable
    # They only save work: what marks and remarks say can be found out again.
    with suppress(StoreUnavailable), store.transaction() as transaction:
        for key, value in reader.values().items():
            transaction.set_value(key, value)


def _copy_from_mirror(place: StorePlace, store: VectorStore, salvaged: _Salvaged) -> None:
    """Take from the mirror what the store has lost; not what it has deleted meanwhile."""
    if salvaged.complete and not salvaged.damaged:
        return
    why = "there is no mirror"
    try:
        if place.target is not None:
            found = import_chroma(store, place.target, {}, salvaged.outbox)
            why = "; ".join(found.failed.values())
            lists = found.unreadable.items()
            salvaged.unreadable += [(name, id_) for name, ids in lists for id_ in ids]
    except StoreUnavailable as error:
        why = error.message
    if why and not salvaged.complete:
        salvaged.doubts.append(f"records that neither copy shows, if any ({why})")


def _find_missing(folder: Path, salvaged: _Salvaged) -> list[str]:
    """The records that were not found intact anywhere: neither by their ids nor, where the id is
    what was damaged, by their checksums."""
    names = {name for name, _ in (*salvaged.damaged, *salvaged.unreadable)}
    wanted = {(name, one.id) for name, one in salvaged.damaged} | {*salvaged.unreadable}
    there: dict[tuple[str, str], RawRecord] = {}
    checksums: set[tuple[str, int]] = set()
    with closing(RawReader(folder)) as reader:
        for name in names & reader.collections().keys():
            for one in chain.from_iterable(reader.read(name)):
                checksums.add((name, one.checksum))
                if (name, one.id) in wanted:
                    there[name, one.id] = one
    lost = [(name, id_) for name, id_ in salvaged.unreadable if (name, id_) not in there]
    for name, one in salvaged.damaged:
        copy = there.get((name, one.id))
        if (name, one.checksum) not in checksums and not (copy and one.is_same(copy)):
            lost.append((name, one.id))
    return [f"{name}: {id_}" for name, id_ in dict.fromkeys(lost)]


def _write(store: VectorStore, name: str, model: str, intact: Sequence[RawRecord]) -> None:
    records = [one.record for one in intact if one.record]
    vectors = [one.vector for one in intact if one.vector is not None]
    if records:
        with store.transaction() as transaction:
            transaction.upsert(name, records, np.stack(vectors), model)


def _move(path: Path, target: Path) -> None:
    try:
        path.rename(target)
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be moved to {target} ({error.strerror}). "
            "Make the folder writable, or move it yourself, and run quinion rebuild again."
        ) from error
