"""Originals: files kept whole under the hash of their content.

A file appears under its name when it is complete and on the disk. Whether its document is listed
is in doubt from before it is written, or taken off the list, until that is done; a mark beside it
says so. If the process dies meanwhile, the next start sweeps away what is in doubt and not listed.
What is not in doubt stays, even where the list is not to be seen: it may be another home's.
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
    """The originals of one folder. Calls block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, sha256: str) -> Path:
        """Where the file of this content is, if it is there."""
        return self._folder / sha256

    def keep(self, source: Path, sha256: str) -> None:
        """Copy the file, unless it is there already; it is in doubt.

        Raises:
            ExtractionFailed: it has other content by now.
            StoreUnavailable: it cannot be written.
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
                "Check that there is space and that the folder is writable."
            ) from error

    def mark_unlisted(self, sha256: str) -> None:
        """Note that it is about to be listed, or to be taken off the list."""
        with suppress(OSError):
            self._mark(sha256).touch()

    def mark_listed(self, sha256: str) -> None:
        """Note that it is listed."""
        with suppress(OSError):
            self._mark(sha256).unlink()

    def drop(self, sha256: str) -> None:
        """Delete the file of this content; none is fine."""
        with suppress(OSError):
            self.path(sha256).unlink(missing_ok=True)
            self._mark(sha256).unlink()

    def sweep(self, listed: Collection[str]) -> None:
        """Delete what a dead process left: half a copy, and what is in doubt and not listed."""
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
