"""Backup of a home as one archive, and its restoration.

Excluded are files that can be rebuilt (the mirror, the models, page images) and data outside of
the home (a registry in Redis).
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quinion import __version__
from quinion.errors import InvalidInput, StoreUnavailable
from quinion.settings import Settings
from quinion.store.archive import copy_database, lock_databases, unpack_archive, write_archive
from quinion.store.base import VectorStore
from quinion.store.factory import RESTORING, STORE, StorePlace

BACKUPS = "backups"
EXCLUDED_FOLDERS = frozenset({BACKUPS, STORE, "chroma", "models", "pictures"})
"""Folders of a home that are not copied; the store has its own method for that."""
UNPACKED = "restoring-"
"""Name prefix of the folder into which an archive is unpacked."""
EXCLUDED_PREFIXES = ("engine.", "copying-")
"""Name prefixes of temporary and runtime files."""
DATABASES = ".db"


def back_up(settings: Settings, store: VectorStore) -> Path:
    """Write an archive into the home and return its path.

    Writes wait while the files are copied, so all copies show the same moment.

    Raises:
        StoreUnavailable: a file can't be read or written.
        InvalidInput: the store is in memory.
    """
    home = settings.home
    folder = home / BACKUPS
    now = datetime.now(UTC)
    try:
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix="copying-") as name:
            copies = Path(name)
            with store.freeze_writes():
                store.copy_to(copies / STORE)
                _copy_home(home, copies, settings.chroma_folder)
            target = folder / f"quinion-{now:%Y%m%dT%H%M%S%f}.tar"
            members = {str(path.relative_to(copies)): path for path in _files(copies)}
            note = {
                "quinion": __version__,
                "made": now.isoformat(timespec="seconds"),
                "not_included": _list_excluded(settings),
            }
            write_archive(target, members, note)
    except OSError as error:
        raise StoreUnavailable(
            f"The backup cannot be written to {folder} ({error}). Check that there is space."
        ) from error
    return target


def restore(place: StorePlace, file: Path) -> dict[str, Any]:
    """Restore an archive into an empty home, whose lock the caller holds.

    An interrupted restore leaves a home that is refused (`home.check_restored`), and can be
    repeated: what it had moved is deleted first.

    Raises:
        InvalidInput: the home is not empty, or the archive is damaged.
    """
    home = place.home
    if place.database:
        raise InvalidInput(
            "The store is in PostgreSQL: restore the database with its own tools (pg_restore), or "
            "unset QUINION_DATABASE_URL to restore a home."
        )
    if place.folder is None:
        raise InvalidInput("The store is in memory: set CHROMA_PERSIST_DIR to a folder.")
    _clear_interrupted(home)
    _check_empty(place)
    with tempfile.TemporaryDirectory(dir=home, prefix=UNPACKED) as name:
        copies = Path(name)
        manifest = unpack_archive(file, copies)
        # A backup of quinion 0.1 has no store: it is migrated at first use.
        moves = {
            path: place.folder if path.name == STORE else home / path.name
            for path in copies.iterdir()
        }
        _check_absent(moves.values())
        _note_moves(home, list(moves.values()))
        for path, target in moves.items():
            shutil.move(path, target)
        (home / RESTORING).unlink()
    return manifest


def _note_moves(home: Path, targets: Sequence[Path]) -> None:
    """Write down what is moved, on the disk before the first move."""
    with (home / RESTORING).open("w", encoding="utf-8") as file:
        json.dump([os.path.relpath(target, home) for target in targets], file)
        file.flush()
        os.fsync(file.fileno())


def _clear_interrupted(home: Path) -> None:
    """Delete what an interrupted restore left.

    Only the paths that it noted are deleted: they did not exist before it, and a home in this
    state cannot be used.
    """
    note = home / RESTORING
    targets = []
    with suppress(FileNotFoundError, ValueError):  # ValueError: killed while it wrote the note
        targets = [home / target for target in json.loads(note.read_bytes())]
    for path in (*targets, *home.glob(f"{UNPACKED}*")):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    note.unlink(missing_ok=True)


def _copy_home(home: Path, copies: Path, chroma: Path | None) -> None:
    """Copy everything except the store. Files are linked: they are never changed, only removed."""
    found = [
        path
        for path in _files(home)
        if not EXCLUDED_FOLDERS & set(path.relative_to(home).parts[:-1])
        and not path.name.startswith(EXCLUDED_PREFIXES)
        and not path.name.endswith(("-wal", "-shm"))
        and not (chroma and path.is_relative_to(chroma))
        and not any(".damaged-" in part for part in path.relative_to(home).parts)
    ]
    databases = [path for path in found if path.suffix == DATABASES]
    with lock_databases(databases):
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
    except OSError:  # a file system without hard links
        shutil.copyfile(path, target)


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        for name in sorted(names):
            path = Path(parent) / name
            if path.is_file() and not path.is_symlink():
                yield path


def _list_excluded(settings: Settings) -> list[str]:
    excluded = []
    if settings.redis_url:
        excluded.append("the policy registry, which is in Redis: back that up with its own tools")
    if settings.docvec_db_path not in (None, settings.home):
        excluded.append(
            f"DocVec's index, which is in {settings.docvec_db_path}: back it up with QUINION_HOME "
            "set to that folder"
        )
    return excluded


def _check_empty(place: StorePlace) -> None:
    assert place.folder is not None
    home = place.home
    _check_absent(
        [place.folder, home / "policies.db", home / "originals", home / "library", home / "ledger"]
    )


def _check_absent(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.exists():
            raise InvalidInput(
                f"{path} already exists, and a backup can be restored into an empty home only. "
                "Set QUINION_HOME to another folder, or move this one away."
            )
