"""Rebuild of a damaged store from its intact records and its mirror (`quinion rebuild`).

The mirror is rebuilt from the store. Nothing is embedded again. Damaged files are moved aside,
never deleted. The caller holds the home's lock.
"""

import shutil
import time
from collections.abc import Sequence
from contextlib import closing
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
from quinion.store.embedded.vectors.vector_index import VECTORS
from quinion.store.factory import REBUILT, StorePlace, finish_rebuild, open_store

Damaged = tuple[str, RawRecord]
"""A damaged record, with the name of its collection."""

__all__ = ["ImportReport", "RebuildReport", "import_into", "rebuild"]


@dataclass(slots=True)
class RebuildReport:
    """Result of a rebuild: records, files moved aside, lost records, remaining problems."""

    records: int = 0
    aside: list[Path] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def rebuild(place: StorePlace) -> RebuildReport:
    """Rebuild the store if it is damaged, its indexes if they are damaged, and the mirror.

    Raises:
        StoreUnavailable: neither the store nor the mirror can be read, or a newer quinion wrote
            the store.
        InvalidInput: the store is in memory.
    """
    if place.database:
        raise InvalidInput(
            "The store is in PostgreSQL, so it has no files to rebuild. Run quinion verify "
            "--repair, or restore a backup of the database."
        )
    if place.folder is None:
        raise InvalidInput("The store is in memory, so it has no files to rebuild.")
    adopt_ledger(place.home, place.folder, str(place.mirror))
    finish_rebuild(place.folder)
    report = RebuildReport()
    _salvage(place, place.folder, report)
    if isinstance(place.target, Path) and find_files(place.target):
        report.aside.append(quarantine(place.target))
    with closing(open_store(place)) as store:
        for name in store.collections():
            checked = store.check(name, repair=True)
            report.records += checked.records
            report.problems += (*checked.problems, *checked.warnings)
    return report


def import_into(place: StorePlace, source: str, required: Required) -> ImportReport:
    """Import records of another program from the Chroma at `source`, a folder or an address.

    Raises:
        StoreUnavailable: Chroma can't be read, or the store can't be written.
    """
    with closing(open_store(place)) as store:
        return import_chroma(store, source if "://" in source else Path(source), required)


def _find_damage(folder: Path) -> tuple[str, str]:
    """Find damage of the database itself, or else the first damaged record.

    Raises:
        StoreUnavailable: a newer quinion wrote it.
    """
    if not (folder / FILE).exists():
        is_lost = any(folder.glob(f"*{VECTORS}"))
        return f"there is no {FILE} in {folder}" if is_lost else "", ""
    version = 0
    try:
        with closing(RawReader(folder)) as reader:
            if lines := reader.find_damage():
                return lines[0], ""
            version = reader.version()
            damaged = chain.from_iterable(reader.check(name)[1] for name in reader.collections())
            return "", next((f"the record {one.id} is damaged" for one in damaged), "")
    except StoreUnavailable as error:
        return error.message.rstrip("."), ""
    finally:
        check_version(version, VERSION, folder)


def _salvage(place: StorePlace, folder: Path, report: RebuildReport) -> None:
    """Build a new store from intact records and the mirror, and move the damaged one aside.

    A store without records is filled from the mirror in place, except for records that were
    deleted before the mirror was updated.
    """
    file_damage, record_damage = _find_damage(folder)
    is_damaged = bool(file_damage or record_damage)
    new = folder.with_name(f"{folder.name}{REBUILT}") if is_damaged else folder
    if new != folder:
        shutil.rmtree(new, ignore_errors=True)
    elif place.target is None or (isinstance(place.target, Path) and not find_files(place.target)):
        return
    with closing(EmbeddedStore(new, mirrored=place.target is not None)) as store:
        if new == folder and not _is_empty(store):
            return
        damaged, outbox = _copy_intact(folder, store)
        unreadable, failure = _copy_from_mirror(place, store, outbox)
        is_empty = _is_empty(store)
    if new != folder and is_empty:
        shutil.rmtree(new)
        raise StoreUnavailable(
            f"Nothing can be rebuilt: the store is damaged ({file_damage or record_damage}), and "
            "Chroma has no records to rebuild it from. Restore a backup with quinion restore."
        )
    report.lost += _find_missing(new, damaged + unreadable)
    if failure and not record_damage:  # else all damaged records are known
        report.lost.append(f"records that neither copy shows, if any ({failure})")
    if new != folder:
        aside = folder.with_name(f"{folder.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
        _move(folder, aside)
        report.aside.append(aside)
        finish_rebuild(folder)


def _is_empty(store: VectorStore) -> bool:
    return not any(store.count(Selector.everything(name)) for name in store.collections())


def _copy_intact(folder: Path, store: EmbeddedStore) -> tuple[list[Damaged], set[tuple[str, str]]]:
    """Copy the intact records; return the damaged ones and the entries of the outbox."""
    damaged: list[Damaged] = []
    if not (folder / FILE).is_file():
        return damaged, set()
    with closing(RawReader(folder, salvage=True)) as reader:
        for name, found in reader.collections().items():
            for step in reader.read(name):
                _write(store, name, found.model, [one for one in step if one.is_intact])
                damaged += [(name, one) for one in step if not one.is_intact]
        with store.transaction() as transaction:
            for key, value in reader.values().items():
                transaction.set_value(key, value)
        outbox = reader.outbox()
    for name in {name for name, _ in outbox}:
        store.outbox.add(name, [id_ for other, id_ in outbox if id_ and other == name])
    return damaged, outbox


def _write(store: VectorStore, name: str, model: str, intact: Sequence[RawRecord]) -> None:
    records = [one.record for one in intact if one.record]
    if records:
        with store.transaction() as transaction:
            vectors = np.stack([one.vector for one in intact if one.vector is not None])
            transaction.upsert(name, records, vectors, model)


def _copy_from_mirror(
    place: StorePlace, store: VectorStore, outbox: set[tuple[str, str]]
) -> tuple[list[Damaged], str]:
    """Copy records that the store lacks from the mirror, except for those in the outbox.

    Those may have been deleted. Return the unreadable records, and the reason why there may be
    more of them.
    """
    if place.target is None:
        return [], "there is no mirror"
    try:
        found = import_chroma(store, place.target, {}, outbox)
    except StoreUnavailable as error:
        return [], error.message
    done = found.collections.items()
    unreadable = [(name, RawRecord(id_)) for name, one in done for id_ in one.unreadable]
    return unreadable, "; ".join(one.failure for _, one in done if one.failure)


def _find_missing(folder: Path, damaged: Sequence[Damaged]) -> list[str]:
    """Find the damaged records of which the store has no intact copy."""
    there: set[tuple[str, str | int | None]] = set()
    with closing(RawReader(folder)) as reader:
        for name in {name for name, _ in damaged} & reader.collections().keys():
            for one in chain.from_iterable(reader.read(name)):
                there |= {(name, one.id), (name, one.checksum)}
    lost = [
        (name, one.id) for name, one in damaged if not {(name, m) for m in one.identities} & there
    ]
    return [f"{name}: {id_}" for name, id_ in dict.fromkeys(lost)]


def _move(path: Path, target: Path) -> None:
    try:
        path.rename(target)
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be moved to {target} ({error.strerror}). "
            "Make the folder writable, or move it yourself, and run quinion rebuild again."
        ) from error
