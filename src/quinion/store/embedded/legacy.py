"""Adopts the ledger of quinion 0.1 as the store of its home.

A home of that version has its records in `ledger/<hash of the path of Chroma>/`, unfinished
operations in `journal.db`, and notes in `marks.db` and `library/remarks.db`. All of that becomes
one store, in steps that may be interrupted anywhere and are taken up again at the next start: the
old folder is brought into the new form where it lies, and renamed last.

The path in the name made a moved or symlinked home lose its ledger, or have two. So the ledger of
another path is adopted, too, and several are merged; where two have different versions of a
record, nothing is changed and a person decides.
"""

import hashlib
import json
import logging
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from itertools import combinations
from pathlib import Path

import numpy as np

from quinion.errors import StoreUnavailable
from quinion.model.record import Record
from quinion.store.archive import copy_database
from quinion.store.base import Selector, Vectors
from quinion.store.embedded.database import FILE
from quinion.store.embedded.store import EmbeddedStore

log = logging.getLogger(__name__)

LEDGER, LEDGER_FILE = "ledger", "ledger.db"
JOURNAL, MARKS, REMARKS = "journal.db", "marks.db", "library/remarks.db"
SMALL = (JOURNAL, MARKS, REMARKS, "policies.db")
"""What is copied before anything is changed."""
BACKUPS = "backups"
CHROMA = "chroma.sqlite3"
SUFFIXES = {".rows": ".vectors"}
NAMES = FILE, LEDGER_FILE
"""Of a ledger's database: the new name, and the old one."""
_DIFFERENT = """
SELECT mine.id FROM main.collections AS ours
JOIN other.collections AS others ON others.name = ours.name
JOIN main.records AS mine ON mine.collection = ours.number
JOIN other.records AS theirs ON theirs.collection = others.number AND theirs.id = mine.id
WHERE mine.checksum != theirs.checksum LIMIT 1
"""


def adopt_ledger(home: Path, folder: Path, old_place: str) -> None:
    """Make the ledger of this home the store in `folder`, if there is none yet.

    `old_place` is the path or address of the Chroma that the ledger belonged to.

    Raises:
        StoreUnavailable: several ledgers have different versions of a record, or the disk fails.
    """
    if (folder / FILE).exists():
        return
    try:
        _adopt(home, folder, old_place)
    except (sqlite3.Error, OSError) as error:
        raise StoreUnavailable(
            f"{home} can't be migrated: {error}. Check that the disk is not full and that the "
            "folder is writable, and start again; the migration continues."
        ) from error


def _adopt(home: Path, folder: Path, old_place: str) -> None:
    candidates = _find_ledgers(home)
    in_home = folder.parent == home
    main = _choose(candidates, home, folder, old_place)
    if main is None:
        return
    others = [one for one in candidates if one != main] if in_home else []
    for one, other in combinations((main, *others), 2):
        _check_same(one, other)
    log.warning("Migrating %s to %s", main, folder)
    backup = home / BACKUPS / f"schema-1-{time.strftime('%Y%m%d-%H%M%S')}"
    _back_up(home, backup)
    for ledger in (main, *others):
        _rename_files(ledger)
    with closing(EmbeddedStore(main, mirrored=True)) as store:
        _undo_unfinished(home, main, store)
        for other in others:
            with closing(EmbeddedStore(other)) as source:
                _undo_unfinished(home, other, source)
                _merge(source, store)
        _take_notes(home, main, store)
    _place(main, folder)
    for other in others:
        shutil.move(other, backup / other.name)
    if not _find_ledgers(home):
        for name in (JOURNAL, MARKS, REMARKS):
            for suffix in ("", "-wal", "-shm"):
                (home / f"{name}{suffix}").unlink(missing_ok=True)
        shutil.rmtree(home / "replacing", ignore_errors=True)
        with suppress(OSError):
            (home / LEDGER).rmdir()


def _choose(candidates: Sequence[Path], home: Path, folder: Path, old_place: str) -> Path | None:
    """The ledger that becomes the store in `folder`; None: all belong to other folders."""
    own = home / LEDGER / _hash(str(home / "chroma"))
    for wanted in (home / LEDGER / _hash(old_place), home / LEDGER):  # the latter: of a backup
        if wanted in candidates:
            return wanted
    if folder.parent == home:
        return candidates[0] if candidates else None
    is_moved = len(candidates) == 1 and (folder.parent / CHROMA).exists()
    return candidates[0] if is_moved and own not in candidates else None


def _find_ledgers(home: Path) -> list[Path]:
    """The folders of all ledgers, the fullest first; one without a record is none."""
    folders = [home / LEDGER, *sorted((home / LEDGER).glob("*/"))]
    counts = {one: _count(one) for one in folders if ".damaged-" not in one.name}
    return sorted((one for one in counts if counts[one]), key=lambda one: -counts[one])


def _count(folder: Path) -> int:
    for name in NAMES:
        if (folder / name).exists():
            try:
                with closing(sqlite3.connect(folder / name)) as database:
                    [(records,)] = database.execute("SELECT count(*) FROM records")
            except sqlite3.Error as error:
                raise StoreUnavailable(
                    f"{folder / name} is damaged: {error}. Restore a backup with quinion restore, "
                    "or move the folder away and take over what Chroma has: quinion import chroma"
                ) from error
            return int(records)
    return 0


def _hash(place: str) -> str:
    """The name of the ledger's folder for a Chroma at that place."""
    return hashlib.blake2b(place.encode(), digest_size=4).hexdigest()


def _back_up(home: Path, target: Path) -> None:
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in SMALL:
        if (home / name).exists():
            copy_database(home / name, target / Path(name).name)


def _rename_files(ledger: Path) -> None:
    """Give the files of a ledger their new names."""
    old = ledger / LEDGER_FILE
    if old.exists():
        with closing(sqlite3.connect(old)) as database:
            database.execute("PRAGMA journal_mode=DELETE")  # so that it is one file
        old.rename(ledger / FILE)
    for suffix, new in SUFFIXES.items():
        for path in ledger.glob(f"*{suffix}"):
            path.rename(path.with_suffix(new))
    (ledger / "seal").unlink(missing_ok=True)


def _undo_unfinished(home: Path, ledger: Path, store: EmbeddedStore) -> None:
    """Remove what operations left that a process began and did not finish; put back what they
    were replacing."""
    intents = _rows(home / JOURNAL, "SELECT store, traces, backup FROM intents ORDER BY id")
    for place, traces, backup in intents:
        if _hash(place) != ledger.name and ledger.name != LEDGER:
            continue
        with store.transaction() as change:
            for collection, fields, ids in json.loads(traces):
                values = tuple((key, value) for key, value in fields)
                change.delete(Selector(collection, tuple(ids) if ids else None, values))
            if backup:
                for collection, records, vectors in _load(home / "replacing" / Path(backup).name):
                    change.upsert(collection, records, vectors, "")


def _load(path: Path) -> Iterator[tuple[str, list[Record], Vectors]]:
    """The records that were put aside in a file while they were replaced."""
    with np.load(path) as content:
        described = json.loads(content["arr_0"].tobytes().decode())
        for place, (collection, records) in enumerate(described, 1):
            if records:
                yield collection, [Record(*one) for one in records], content[f"arr_{place}"]


def _check_same(one: Path, other: Path) -> None:
    """Make sure that no two ledgers have different versions of a record, or vectors of different
    models.

    Raises:
        StoreUnavailable: they have.
    """
    with closing(sqlite3.connect(_find_database(one))) as database:
        database.execute("ATTACH ? AS other", (str(_find_database(other)),))
        # The fourth column is the model, in this schema and in the next.
        tables = ("main.collections", "other.collections")
        mine, theirs = (
            {row[1]: row[3] for row in database.execute(f"SELECT * FROM {table}")}  # noqa: S608
            for table in tables
        )
        different = [id_ for (id_,) in database.execute(_DIFFERENT)]
        shared = mine.keys() & theirs.keys()
        different += [n for n in shared if mine[n] and theirs[n] and mine[n] != theirs[n]]
    if different:
        raise StoreUnavailable(
            f"This home has two ledgers that differ: {one} and {other} have different versions "
            f"of {different[0]}. Nothing was changed. Move the one that you do not want out of "
            "the home, and start again."
        )


def _find_database(ledger: Path) -> Path:
    return next(path for name in NAMES if (path := ledger / name).exists())


def _merge(source: EmbeddedStore, store: EmbeddedStore) -> None:
    """Take over the records of another ledger that this one lacks."""
    for name in source.collections():
        records, vectors = source.get_with_vectors(Selector.everything(name))
        known = set(store.list_ids(name))
        new = [n for n, record in enumerate(records) if record.id not in known]
        with store.transaction() as change:
            change.upsert(name, [records[n] for n in new], vectors[new], source.model(name))


def _take_notes(home: Path, ledger: Path, store: EmbeddedStore) -> None:
    """Copy marks and remarks into the store's key-value table; the ledger's own marks prevail."""
    marks = _rows(home / MARKS, "SELECT store, key, mark FROM marks")
    remarks = _rows(home / REMARKS, "SELECT store, key, mark FROM marks")
    with store.transaction() as change:
        for _, key, mark in sorted(marks, key=lambda row: _hash(row[0]) == ledger.name):
            change.set_value(f"policy {key}", mark)
        for model, key, mark in remarks:
            change.set_value(f"remark {model} {key}", mark)


def _rows(path: Path, query: str) -> Sequence[tuple[str, ...]]:
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as database:
        if not database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            return []  # its table was never made
        return database.execute(query).fetchall()


def _place(source: Path, folder: Path) -> None:
    """Rename the folder, or copy it where it is to lie on another file system."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(OSError):
        folder.rmdir()  # an empty one that was made before
    if source == folder.parent / LEDGER:
        (source / "engine.lock").unlink(missing_ok=True)
    try:
        source.rename(folder)
    except OSError:
        copy = folder.with_name(f"{folder.name}.migrating")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(source, copy)
        for path in copy.iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        copy.rename(folder)
        shutil.rmtree(source)
