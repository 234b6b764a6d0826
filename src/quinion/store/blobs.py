"""Originals: files kept whole under the hash of their content.

A file appears under its name when it is complete and on the disk. One that nobody lists, because
the process died before it listed it, is swept away at the next start.
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


class Blobs:
    """The originals of one folder. Calls block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, sha256: str) -> Path:
        """Where the file of this content is, if it is there."""
        return self._folder / sha256

    def keep(self, source: Path, sha256: str) -> None:
        """Copy the file, unless it is there already.

        Raises:
            ExtractionFailed: it has other content by now.
            StoreUnavailable: it cannot be written.
        """
        if self.path(sha256).exists():
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile(dir=self._folder, prefix="copying-", delete=False) as copy:
                target = Path(copy.name)
                try:
                    with source.open("rb") as original:
                        shutil.copyfileobj(original, copy, STEP)
                    copy.flush()
                    os.fsync(copy.fileno())
                    self._check(target, source, sha256)
                    target.rename(self.path(sha256))
                except BaseException:
                    target.unlink(missing_ok=True)
                    raise
        except OSError as error:
            raise StoreUnavailable(
                f"{source} cannot be copied to {self._folder} ({error.strerror}). "
                "Check that there is space and that the folder is writable."
            ) from error

    def drop(self, sha256: str) -> None:
        """Delete the file of this content; none is fine."""
        with suppress(OSError):
            self.path(sha256).unlink()

    def sweep(self, listed: Collection[str]) -> None:
        """Delete all files that are not listed."""
        with suppress(FileNotFoundError):
            for path in list(self._folder.iterdir()):
                if path.name not in listed:
                    path.unlink(missing_ok=True)

    def _check(self, copy: Path, source: Path, sha256: str) -> None:
        with copy.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                raise ExtractionFailed(
                    f"{source.name} changed while it was being copied. "
                    "Wait until it has been written completely, then try again."
                )
