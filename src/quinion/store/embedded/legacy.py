"""Migration of a quinion 0.1 home: its ledger becomes the store.

A home of that version has its records in `ledger/<hash of the path of Chroma>/`, unfinished
operations in `journal.db`, and notes in `marks.db` and `library/remarks.db`. They become one
store. The ledger is converted in place and moved last, so an interrupted migration continues at
the next start.

Because of the path in its name, a moved or symlinked home got a second ledger. So a ledger of
another path is accepted, too. If several ledgers have records, nothing is changed, and the user
has to choose one.
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
CHROMA = "chroma.sqlite3"


def adopt_ledger(home: Path, folder: Path, old_place: str) -> None:
    """Convert the ledger of this home to the store in `folder`, if there is none yet.

    `old_place` is the path or address of the Chroma that the ledger belonged to.

    Raises:
        StoreUnavailable: several ledgers have records, one is damaged, or the disk fails.
    """
    try:
        if not (folder / FILE).exists() and (ledger := _find_ledger(home, folder, old_place)):
            _adopt(home, ledger, folder)
    except (sqlite3.Error, OSError) as error:
        raise StoreUnavailable(
            f"{home} can't be migrated: {error}. Check that the disk is not full and that the "
            "folder is writable, and start again; the migration then continues."
        ) from error


def _adopt(home: Path, ledger: Path, folder: Path) -> None:
    log.warning("Migrating %s to %s", ledger, folder)
    backup = home / "backups" / f"schema-1-{time.strftime('%Y%m%d-%H%M%S')}"
    backup.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in (JOURNAL, MARKS, REMARKS, "policies.db"):
        if (home / name).exists():
            copy_database(home / name, backup / Path(name).name)
    _rename_files(ledger)
    with closing(EmbeddedStore(ledger, mirrored=True)) as store:
        _undo_unfinished(home, ledger, store)
        _take_notes(home, ledger, store)
    _move(ledger, folder)
    if not _count_records(home):  # else another ledger still needs them
        for name in (JOURNAL, MARKS, REMARKS):
            for suffix in ("", "-wal", "-shm"):
                (home / f"{name}{suffix}").unlink(missing_ok=True)
        shutil.rmtree(home / "replacing", ignore_errors=True)
        with suppress(OSError):
            (home / LEDGER).rmdir()


def _find_ledger(home: Path, folder: Path, old_place: str) -> Path | None:
    """Find the ledger that becomes the store in `folder`; `None` if no ledger belongs to it."""
    counts = _count_records(home)
    for wanted in (home / LEDGER / _hash(old_place), home / LEDGER):  # the latter from a backup
        if wanted in counts and (len(counts) == 1 or folder.parent != home):
            return wanted
    if folder.parent != home:
        own = home / LEDGER / _hash(str(home / "chroma"))
        if len(counts) != 1 or own in counts or not (folder.parent / CHROMA).exists():
            return None
    if len(counts) > 1:
        found = ", ".join(f"{ledger} ({records:,} records)" for ledger, records in counts.items())
        raise StoreUnavailable(
            f"This home has several ledgers: {found}. Nothing was changed. Move all but one out of "
            f"the home and start again; then quinion import chroma {home / 'chroma'} imports "
            "the records that are missing."
        )
    return next(iter(counts), None)


def _count_records(home: Path) -> dict[Path, int]:
    """Count the records of each ledger of a home that has some."""
    folders = [home / LEDGER, *sorted((home / LEDGER).glob("*/"))]
    counts = {one: _count(one) for one in folders if ".damaged-" not in one.name}
    return {one: records for one, records in counts.items() if records}


def _count(ledger: Path) -> int:
    for path in (ledger / FILE, ledger / LEDGER_FILE):
        if path.exists():
            try:
                [(records,)] = _read(path, "SELECT count(*) FROM records")
            except sqlite3.Error as error:
                raise StoreUnavailable(
                    f"{path} is damaged: {error}. Restore a backup with quinion restore, or move "
                    "the folder away and import the records from Chroma: quinion import chroma"
                ) from error
            return int(records)
    return 0


def _hash(place: str) -> str:
    """The folder name of the ledger for a Chroma at that path or address."""
    return hashlib.blake2b(place.encode(), digest_size=4).hexdigest()


def _rename_files(ledger: Path) -> None:
    """Rename the files of a ledger to those of a store."""
    old = ledger / LEDGER_FILE
    if old.exists():
        _read(old, "PRAGMA journal_mode=DELETE")  # merges the log, so that it is one file
        old.rename(ledger / FILE)
    for path in ledger.glob("*.rows"):
        path.rename(path.with_suffix(".vectors"))
    (ledger / "seal").unlink(missing_ok=True)


def _undo_unfinished(home: Path, ledger: Path, store: EmbeddedStore) -> None:
    """Roll unfinished operations back: delete new records, and restore replaced ones."""
    intents = _read(home / JOURNAL, "SELECT store, traces, backup FROM intents ORDER BY id")
    for place, traces, backup in intents:
        if ledger.name not in (_hash(place), LEDGER):
            continue
        with store.transaction() as change:
            for collection, fields, ids in json.loads(traces):
                values = tuple((key, value) for key, value in fields)
                change.delete(Selector(collection, tuple(ids) if ids else None, values))
            if backup:
                for collection, records, vectors in _load(home / "replacing" / Path(backup).name):
                    change.upsert(collection, records, vectors, "")


def _load(path: Path) -> Iterator[tuple[str, list[Record], Vectors]]:
    """Load the backup of records that were being replaced."""
    with np.load(path) as content:
        described = json.loads(content["arr_0"].tobytes().decode())
        for place, (collection, records) in enumerate(described, 1):
            if records:
                yield collection, [Record(*one) for one in records], content[f"arr_{place}"]


def _take_notes(home: Path, ledger: Path, store: EmbeddedStore) -> None:
    """Copy marks and remarks into the key-value table; the ledger's own marks take precedence."""
    marks, remarks = (
        _read(home / name, "SELECT store, key, mark FROM marks") for name in (MARKS, REMARKS)
    )
    with store.transaction() as change:
        for _, key, mark in sorted(marks, key=lambda row: _hash(row[0]) == ledger.name):
            change.set_value(f"policy {key}", mark)
        for model, key, mark in remarks:
            change.set_value(f"remark {model} {key}", mark)


def _read(path: Path, query: str) -> Sequence[tuple[str, ...]]:
    """Read the rows of a query; none if the database or its tables are missing."""
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as database:
        has_tables = database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        return database.execute(query).fetchall() if has_tables else []


def _move(ledger: Path, folder: Path) -> None:
    """Rename the folder, or copy it to another file system."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(OSError):
        folder.rmdir()  # an existing empty folder
    if ledger.name == LEDGER:
        (ledger / "engine.lock").unlink(missing_ok=True)
    try:
        ledger.rename(folder)
    except OSError:
        copy = folder.with_name(f"{folder.name}.migrating")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(ledger, copy)
        for path in copy.iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        copy.rename(folder)
        shutil.rmtree(ledger)
