"""Blob storage: copies of original files, named by the hash of their content.

A file gets its name once it is complete and on the disk. A marker file beside it says that its
document may not be listed; it exists while a document is being added or removed. If the process
dies meanwhile, the next start deletes files that are marked and not listed. Unmarked files are
never deleted, even if the list can't be read: they may belong to another home.
"""

import hashlib
import os
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from quinion.errors import ExtractionFailed, StoreUnavailable

STEP = 1 << 20
UNLISTED = ".unlisted"
COPYING = "copying-"


class Blobs:
    """Original files in one folder. All methods block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, sha256: str) -> Path:
        """The path of the file with this hash, which may not exist."""
        return self._folder / sha256

    def keep(self, source: Path, sha256: str) -> None:
        """Copy the file, unless the copy exists, and mark it as unlisted.

        Raises:
            ExtractionFailed: the content of the file has changed.
            StoreUnavailable: the copy cannot be written.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self.mark_unlisted(sha256)
            if self.path(sha256).exists():
                return
            with NamedTemporaryFile(dir=self._folder, prefix=COPYING, delete=False) as file:
                copy = Path(file.name)
                try:
                    with source.open("rb") as original:
                        shutil.copyfileobj(original, file, STEP)
                    file.flush()
                    os.fsync(file.fileno())
                    file.seek(0)
                    if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                        raise ExtractionFailed(
                            f"{source.name} changed while it was being copied. "
                            "Wait until it has been written completely, then try again."
                        )
                    copy.rename(self.path(sha256))
                finally:
                    copy.unlink(missing_ok=True)
        except OSError as error:
            raise StoreUnavailable(
                f"{source} cannot be copied to {self._folder} ({error.strerror}). "
                "Check that there is free space and that the folder is writable."
            ) from error

    def mark_unlisted(self, sha256: str) -> None:
        """Mark a file whose document is about to be added or removed."""
        with suppress(OSError):
            self._mark(sha256).touch()

    def mark_listed(self, sha256: str) -> None:
        """Remove the mark of a file whose document is listed."""
        with suppress(OSError):
            self._mark(sha256).unlink()

    def drop(self, sha256: str) -> None:
        """Delete the file with this hash, if it exists."""
        with suppress(OSError):
            self.path(sha256).unlink(missing_ok=True)
            self._mark(sha256).unlink()

    def sweep(self, listed: Collection[str]) -> None:
        """Delete leftovers of a killed process: partial copies, and marked files not listed."""
        for path in list(self._folder.glob(f"{COPYING}*")):
            path.unlink(missing_ok=True)
        for path in list(self._folder.glob(f"*{UNLISTED}")):
            sha256 = path.name.removesuffix(UNLISTED)
            if sha256 in listed:
                self.mark_listed(sha256)
            else:
                self.drop(sha256)

    def _mark(self, sha256: str) -> Path:
        return self._folder / f"{sha256}{UNLISTED}"
