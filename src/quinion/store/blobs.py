"""Blob storage: copies of original files, named by the hash of their content.

`Blobs` is the port. `FolderBlobs` keeps the files in a folder of the home; `bucket_blobs` keeps
them in a shared folder or a bucket, for several servers.

Where the file system can, a copy shares its blocks with the original (reflink) and costs no space.
It is never a hard link: a program that changes the original in place would change the copy too.

A file gets its name once it is complete and on the disk. A marker file beside it says that its
document may not be listed; it exists while a document is being added or removed. If the process
dies meanwhile, the next start deletes files that are marked and not listed. Unmarked files are
never deleted, even if the list can't be read: they may belong to another home.
"""

import hashlib
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Protocol

from quinion.errors import ExtractionFailed, StoreUnavailable

STEP = 1 << 20
MAX_RANGE = 1 << 30
"""Bytes that the kernel copies at once."""
UNLISTED = ".unlisted"
COPYING = "copying-"
OLD_S = 86_400.0
"""Age from which on a partial copy belongs to no process any more."""


class Blobs(Protocol):
    """Original files. All methods block."""

    def has(self, sha256: str) -> bool:
        """Whether the file is kept.

        Raises:
            StoreUnavailable: this is not known.
        """
        ...

    def fetch(self, sha256: str) -> Path | None:
        """Return the path of the file in a local folder; `None` if it is not kept.

        Raises:
            StoreUnavailable: the file cannot be read, or is damaged.
        """
        ...

    def is_damaged(self, sha256: str) -> bool:
        """Whether the file is kept and has another content than it should."""
        ...

    def keep(self, source: Path, sha256: str) -> None:
        """Copy the file, unless the copy exists, and mark it as unlisted.

        Raises:
            ExtractionFailed: the content of the file has changed.
            StoreUnavailable: the copy cannot be written.
        """
        ...

    def mark_unlisted(self, sha256: str) -> None:
        """Mark a file whose document is about to be added or removed."""
        ...

    def mark_listed(self, sha256: str) -> None:
        """Remove the mark of a file whose document is listed."""
        ...

    def drop(self, sha256: str) -> None:
        """Delete the file with this hash, if it exists."""
        ...

    def sweep(self) -> list[str]:
        """Delete partial copies of a killed process, and return the files that are marked."""
        ...


class FolderBlobs:
    """Original files in one folder; implements `Blobs`.

    If other processes may be copying to it (`is_shared`), partial copies are kept for a day.
    """

    def __init__(self, folder: Path, *, is_shared: bool = False) -> None:
        self._folder = folder
        self._is_shared = is_shared

    def path(self, sha256: str) -> Path:
        """The path of the file with this hash, which may not exist."""
        return self._folder / sha256

    def has(self, sha256: str) -> bool:
        return self.path(sha256).is_file()

    def fetch(self, sha256: str) -> Path | None:
        return self.path(sha256).resolve() if self.has(sha256) else None

    def is_damaged(self, sha256: str) -> bool:
        path = self.fetch(sha256)
        return path is not None and _hash_file(path) != sha256

    def keep(self, source: Path, sha256: str) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self.mark_unlisted(sha256)
            if self.path(sha256).exists():
                return
            with NamedTemporaryFile(dir=self._folder, prefix=COPYING, delete=False) as file:
                copy = Path(file.name)
                try:
                    with source.open("rb") as original:
                        _copy(original, file)
                    file.flush()
                    os.fsync(file.fileno())
                    file.seek(0)
                    if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                        raise changed(source)
                    copy.rename(self.path(sha256))
                finally:
                    copy.unlink(missing_ok=True)
        except OSError as error:
            raise StoreUnavailable(
                f"{source} cannot be copied to {self._folder} ({error.strerror}). "
                "Check that there is free space and that the folder is writable."
            ) from error

    def mark_unlisted(self, sha256: str) -> None:
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._mark(sha256).touch()

    def mark_listed(self, sha256: str) -> None:
        with suppress(OSError):
            self._mark(sha256).unlink()

    def drop(self, sha256: str) -> None:
        with suppress(OSError):
            self.path(sha256).unlink(missing_ok=True)
            self._mark(sha256).unlink()

    def sweep(self) -> list[str]:
        limit = time.time() - (OLD_S if self._is_shared else 0)
        for path in list(self._folder.glob(f"{COPYING}*")):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime <= limit:
                    path.unlink()
        return [path.name.removesuffix(UNLISTED) for path in self._folder.glob(f"*{UNLISTED}")]

    def adopt(self, folder: Path) -> None:
        """Move the files of another folder of the same file system here."""
        with suppress(FileNotFoundError):
            for path in list(folder.iterdir()):
                self._folder.mkdir(parents=True, exist_ok=True)
                path.rename(self._folder / path.name)
            folder.rmdir()

    def _mark(self, sha256: str) -> Path:
        return self._folder / f"{sha256}{UNLISTED}"


def changed(source: Path) -> ExtractionFailed:
    """The error that the content of a file has changed since it was hashed."""
    return ExtractionFailed(
        f"{source.name} changed while it was being copied. "
        "Wait until it has been written completely, then try again."
    )


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _copy(source: IO[bytes], target: IO[bytes]) -> None:
    """Copy a file; on Linux without copying its blocks, where the file system can share them."""
    copy_range = getattr(os, "copy_file_range", None)
    try:
        while copy_range and copy_range(source.fileno(), target.fileno(), MAX_RANGE):
            pass
    except OSError:  # other file systems, or too old a kernel
        source.seek(0)
        target.seek(0)
        target.truncate()
        copy_range = None
    if copy_range is None:
        shutil.copyfileobj(source, target, STEP)
