"""One copy of all records, made anew from the other, without embedding anything.

As a rule Chroma is made anew from the ledger. Where the ledger is the damaged one, it is made anew
from what is whole in it and from Chroma; where both are, both are. What is damaged is moved aside,
never deleted. Nobody else may have the home meanwhile: the caller holds its lock.
"""

import shutil
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from quinion.errors import StoreUnavailable
from quinion.store.apart import open_chroma
from quinion.store.audit import Audit, Kept
from quinion.store.chroma import Place, find_damage
from quinion.store.ledger import DATABASE, Ledger
from quinion.store.lock import LOCK_NAME
from quinion.store.proof import word
from quinion.store.taking import take_all
from quinion.store.vectors import VectorStore


@dataclass(slots=True)
class Rebuilt:
    """What there is now, what was moved aside, what is lost, what is still amiss, why Chroma could
    not be read, and which collections of other programs are in its old files alone."""

    records: int = 0
    aside: list[Path] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    unreadable: str = ""
    others: list[str] = field(default_factory=list)


def rebuild(folder: Path, place: Place) -> Rebuilt:
    """Make anew what has to be, for the ledger in this folder and the Chroma at this place.

    Raises:
        StoreUnavailable: neither of the two can be read, or a file can't be moved or written.
    """
    done = Rebuilt()
    suffix = f".damaged-{time.strftime('%Y%m%d-%H%M%S')}"
    damage = _find_damage(folder)
    flaw = find_damage(place)
    named = _names_all(folder)
    old = folder.with_name(folder.name + suffix)
    if damage and (folder / DATABASE).exists():
        _move(folder, old)
        done.aside.append(old)
    damaged = _save_whole(old, folder) if damage else []
    taken = take_all(place, folder)
    done.unreadable = taken.unreadable
    why = done.unreadable or flaw or ("" if taken.is_all else "its vectors can't be read")
    if (old in done.aside or why) and not _has_records(folder):
        if old in done.aside:
            shutil.rmtree(folder, ignore_errors=True)
            _move(old, folder)
        raise StoreUnavailable(
            f"Nothing can be made anew: the ledger is damaged ({damage or 'it is empty'}), and "
            f"Chroma has nothing to make it from{f' ({why})' if why else ''}. "
            "Restore a backup with quinion restore."
        )
    if place.folder and not place.url and (why or not damage):
        _move_content(place.folder, place.folder.with_name(place.folder.name + suffix), done)
        done.others = taken.others
    _fill(folder, place, done, renew=not damage)
    done.lost = _still_missing(folder, damaged)
    told = {(name, kept.id) for name, kept in damaged}
    done.lost += word(one for one in taken.lost if (one.collection, one.id) not in told)
    if not named and (done.unreadable or flaw):
        done.lost.append(f"what Chroma does not show, if anything ({done.unreadable or flaw})")
    return done


def _find_damage(folder: Path) -> str:
    """Why the ledger can't be relied on; empty: it can."""
    if not (folder / DATABASE).exists():
        return f"there is none in {folder}"
    try:
        with closing(Audit(folder)) as audit:
            for line in audit.find_damage():
                return line
            for name in audit.collections():
                for step in audit.read(name):
                    for kept in step:
                        if not kept.is_whole:
                            return f"the record {kept.id} is damaged"
    except StoreUnavailable as error:
        return error.message.rstrip(".")
    return ""


def _names_all(folder: Path) -> bool:
    """Whether the ledger, be its records whole or not, can be relied on for which there were."""
    with suppress(StoreUnavailable), closing(Audit(folder)) as audit:
        marks = audit.collections().values()
        return bool(marks) and all(marks) and not audit.find_damage()
    return False


def _save_whole(old: Path, folder: Path) -> list[tuple[str, Kept]]:
    """Copy what is whole of a damaged ledger into a new one; what is not, and its collection.

    Where it can't be read on, the rest is left to Chroma.
    """
    damaged: list[tuple[str, Kept]] = []
    with suppress(StoreUnavailable), closing(Audit(old)) as audit, closing(Ledger(folder)) as new:
        for name, fingerprint in audit.collections().items():
            with suppress(StoreUnavailable):
                for step in audit.read(name):
                    _write(new, name, [kept for kept in step if kept.is_whole])
                    damaged += [(name, kept) for kept in step if not kept.is_whole]
            if new.count(name):
                new.mark(name, fingerprint)
    return damaged


def _write(ledger: Ledger, collection: str, whole: Sequence[Kept]) -> None:
    records = [kept.record for kept in whole if kept.record]
    vectors = [kept.vector for kept in whole if kept.vector is not None]
    if records:
        ledger.upsert(collection, records, np.stack(vectors))


def _has_records(folder: Path) -> bool:
    with closing(Ledger(folder)) as ledger:
        return any(ledger.count(name) for name in ledger.collections())


def _still_missing(folder: Path, damaged: Sequence[tuple[str, Kept]]) -> list[str]:
    """Those that Chroma did not have: neither by their ids nor, where the id is what was damaged,
    by their checksums."""
    there: dict[str, set[str | int]] = {}
    with closing(Audit(folder)) as audit:
        for name in {name for name, _ in damaged} & audit.collections().keys():
            whole = (kept for step in audit.read(name) for kept in step)
            there[name] = {mark for kept in whole for mark in (kept.id, kept.checksum)}
    return [
        f"{name}: {kept.id}"
        for name, kept in damaged
        if there.get(name, set()).isdisjoint((kept.id, kept.checksum))
    ]


def _fill(folder: Path, place: Place, done: Rebuilt, *, renew: bool) -> None:
    """Give Chroma what it lacks, and prove that all is well."""
    ledger = Ledger(folder)
    with closing(VectorStore(open_chroma(place), ledger, str)) as store:
        for name in ledger.collections():
            if renew:
                ledger.renew(name)
            store.reconcile(name)
            # The records of a server can't be moved aside, so they are mended where they are.
            proof = store.prover.verify(name, repair=place.url is not None)
            done.records += proof.records
            done.problems += proof.problems


def _move_content(folder: Path, target: Path, done: Rebuilt) -> None:
    """All but the lock, which is held."""
    content = [one for one in folder.iterdir() if one.name != LOCK_NAME] if folder.exists() else []
    if content:
        target.mkdir()
        for one in content:
            _move(one, target / one.name)
        done.aside.append(target)


def _move(path: Path, target: Path) -> None:
    try:
        shutil.move(path, target)
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be moved to {target} ({error.strerror}). "
            "Make the folder writable, or move it yourself, and run quinion rebuild again."
        ) from error
