"""Backups: all that a home keeps in one file, and a home made of it.

Not in it is what can be made again: Chroma's folder (from the ledger), the models, pictures of
pages. Nor is what is not in the home: a registry in Redis, a Chroma server.
"""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quinion import __version__
from quinion.errors import InvalidInput, StoreUnavailable
from quinion.settings import Settings
from quinion.store.archive import copy_database, unchanged, unpack_archive, write_archive
from quinion.store.chroma import DATABASE as CHROMA
from quinion.store.journal import Journal
from quinion.store.ledger import DATABASE, Ledger
from quinion.store.shelves import ROWS

BACKUPS = "backups"
LEDGER = "ledger"
MADE_AGAIN = frozenset({BACKUPS, LEDGER, "chroma", "models", "replacing", "pictures"})
"""Folders of a home that are not copied; of the ledger a part is."""
PASSING = ("engine.", "copying-")
"""What the names of files begin with that mean nothing to another process."""
DATABASES = ".db"


def back_up(settings: Settings, journal: Journal, ledger: Ledger, place: str) -> Path:
    """Write an archive into the home, and say where it is.

    Whoever wants to write waits while the ledger is copied, and all copies are of that moment;
    what was half-written then is removed, as after a crash, when the restored home is opened.

    Raises:
        StoreUnavailable: something can't be read or written.
        InvalidInput: the store is in memory.
    """
    if ledger.folder is None:
        raise InvalidInput("The vector store is in memory: there is nothing to back up.")
    home = settings.home
    folder = home / BACKUPS
    now = datetime.now(UTC)
    try:
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix="copying-") as name:
            copies = Path(name)
            with journal.still(), ledger.still():
                _copy_home(home, copies, settings.chroma_folder)
                copy_database(ledger.folder / DATABASE, copies / LEDGER / DATABASE)
                for rows in ledger.folder.glob(f"*{ROWS}"):
                    shutil.copyfile(rows, copies / LEDGER / rows.name)
            target = folder / f"quinion-{now:%Y%m%dT%H%M%S%f}.tar"
            members = {str(path.relative_to(copies)): path for path in _files(copies)}
            note = {
                "quinion": __version__,
                "made": now.isoformat(timespec="seconds"),
                "place": place,
                "not_included": _name_missing(settings),
            }
            write_archive(target, members, note)
    except OSError as error:
        raise StoreUnavailable(
            f"The backup cannot be written to {folder} ({error}). Check that there is space."
        ) from error
    return target


def restore(settings: Settings, file: Path, ledger_folder: Path, place: str) -> dict[str, Any]:
    """Make a home of an archive, where there is none; the caller holds its lock.

    Raises:
        InvalidInput: something is kept there already, or the archive is damaged.
    """
    home = settings.home
    _check_empty(home, settings.chroma_folder)
    with tempfile.TemporaryDirectory(dir=home, prefix="restoring-") as name:
        copies = Path(name)
        manifest = unpack_archive(file, copies)
        for path in copies.glob(f"*{DATABASES}"):
            _name_place(path, str(manifest["place"]), place)
        ledger_folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(copies / LEDGER, ledger_folder)
        for path in copies.iterdir():
            shutil.move(path, home / path.name)
    return manifest


def _copy_home(home: Path, copies: Path, chroma: Path | None) -> None:
    """All of it but the ledger. Files are linked: they are never changed, only removed."""
    found = [
        path
        for path in _files(home)
        if not MADE_AGAIN & set(path.relative_to(home).parts[:-1])
        and not path.name.startswith(PASSING)
        and not path.name.endswith(("-wal", "-shm"))
        and not (chroma and path.is_relative_to(chroma))
        and not any(".damaged-" in part for part in path.parts)
    ]
    databases = [path for path in found if path.suffix == DATABASES]
    with unchanged([path for path in databases if path.name != "journal.db"]):
        for path in databases:
            copy_database(path, copies / path.relative_to(home))
    for path in found:
        if path not in databases:
            target = copies / path.relative_to(home)
            target.parent.mkdir(parents=True, exist_ok=True)
            _link(path, target)


def _link(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except OSError:  # a file system that has no links
        shutil.copyfile(path, target)


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        for name in sorted(names):
            path = Path(parent) / name
            if path.is_file() and not path.is_symlink():
                yield path


def _name_missing(settings: Settings) -> list[str]:
    missing = []
    if settings.redis_url:
        missing.append("the policy registry, which is in Redis: back that up with its own tools")
    if settings.chroma_url:
        missing.append("the records in the Chroma server; the ledger, which is included, has them")
    if settings.docvec_db_path not in (None, settings.home):
        missing.append(
            f"DocVec's index, which is in {settings.docvec_db_path}: back it up with QUINION_HOME "
            "set to that folder"
        )
    return missing


def _check_empty(home: Path, chroma: Path | None) -> None:
    places = [home / "journal.db", home / LEDGER, home / "policies.db", home / "library"]
    if chroma:
        places.append(chroma / CHROMA)
    for path in places:
        if path.exists():
            raise InvalidInput(
                f"{path} is there already, and a backup is restored into an empty home only. "
                "Set QUINION_HOME to another folder, or move this one away."
            )


def _name_place(path: Path, old: str, new: str) -> None:
    """Notes name the store that they are about, by where it is; here it is elsewhere."""
    with ExitStack() as stack:
        database = stack.enter_context(closing(sqlite3.connect(path, isolation_level=None)))
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            columns = database.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
            if ("store",) in columns:
                database.execute(
                    f'UPDATE "{table}" SET store = ? WHERE store = ?',  # noqa: S608 - its own name
                    (new, old),
                )
