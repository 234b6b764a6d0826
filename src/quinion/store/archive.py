"""Archive format of backups: a plain tar with a checksum for each file.

It is not compressed, because vectors hardly shrink. The manifest is the last member, so a
truncated archive has none and is rejected.
"""

import hashlib
import io
import json
import sqlite3
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from quinion.errors import InvalidInput, StoreUnavailable

MANIFEST = "manifest.json"
FORMAT = 2
READABLE = (1, FORMAT)
STEP = 1 << 20


def write_archive(target: Path, members: Mapping[str, Path], note: Mapping[str, Any]) -> None:
    """Write the members under their names, and a manifest that includes the note.

    Raises:
        StoreUnavailable: a file can't be read or written.
    """
    try:
        with tarfile.open(target, "x") as archive:
            sums = {}
            for name, path in members.items():
                with path.open("rb") as file:
                    sums[name] = hashlib.file_digest(file, "sha256").hexdigest()
                archive.add(path, name, recursive=False)
            manifest = json.dumps({"format": FORMAT, **note, "sha256": sums}, indent=2).encode()
            entry = tarfile.TarInfo(MANIFEST)
            entry.size = len(manifest)
            archive.addfile(entry, io.BytesIO(manifest))
    except OSError as error:
        target.unlink(missing_ok=True)
        raise StoreUnavailable(
            f"{target} cannot be written ({error}). Check that there is free space, and try again."
        ) from error


def unpack_archive(file: Path, target: Path) -> dict[str, Any]:
    """Extract all members into the folder, and return the manifest.

    Raises:
        InvalidInput: it is no quinion archive, or it is damaged; extracted files are unreliable.
    """
    try:
        with tarfile.open(file) as archive:
            sums = {entry.name: _unpack(archive, entry, target) for entry in archive}
        manifest: dict[str, Any] = json.loads((target / MANIFEST).read_bytes())
        (target / MANIFEST).unlink()
        del sums[MANIFEST]
        made_as, wanted = manifest["format"], manifest["sha256"]
    except (tarfile.TarError, OSError, ValueError, KeyError) as error:
        raise InvalidInput(
            f"{file} is not a quinion backup, or it is truncated ({error}). Use another one."
        ) from error
    if made_as not in READABLE:
        raise InvalidInput(f"{file} was made by a newer version of quinion. Use that version.")
    if sums != wanted:
        wrong = sorted(name for name in {*sums, *wanted} if sums.get(name) != wanted.get(name))
        raise InvalidInput(f"{file} is damaged: {', '.join(wrong)}. Use another one.")
    return manifest


def _unpack(archive: tarfile.TarFile, entry: tarfile.TarInfo, target: Path) -> str:
    path = Path(entry.name)
    if not entry.isfile() or path.is_absolute() or ".." in path.parts:
        raise InvalidInput(f"{entry.name} is no valid member of a backup. Use another backup.")
    place = target / path
    place.parent.mkdir(parents=True, exist_ok=True)
    source = cast(BinaryIO, archive.extractfile(entry))
    digest = hashlib.sha256()
    with place.open("xb") as file:
        while part := source.read(STEP):
            file.write(part)
            digest.update(part)
    return digest.hexdigest()


def copy_database(source: Path, target: Path) -> None:
    """Copy a snapshot of a SQLite file, while others may write to it.

    Raises:
        StoreUnavailable: it can't be read or written.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
            old.backup(new)
            new.execute("PRAGMA journal_mode=DELETE")  # so that it is one file
    except sqlite3.Error as error:
        raise StoreUnavailable(f"{source} cannot be copied to {target} ({error}).") from error


@contextmanager
def lock_databases(databases: Sequence[Path]) -> Iterator[None]:
    """Block writers of these databases during the block, which should be short."""
    with ExitStack() as stack:
        try:
            for path in databases:
                database = stack.enter_context(closing(sqlite3.connect(path, isolation_level=None)))
                database.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise StoreUnavailable(
                f"A database of the home is busy ({error}). Try again."
            ) from error
        yield
