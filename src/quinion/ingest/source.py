"""Source file of an ingestion: path checks, permissions and content hash."""

import hashlib
import os
import stat
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from quinion.errors import ExtractionFailed, FileMissing, FileUnreadable, UnsupportedFile
from quinion.workers.safe_open import open_resolved


@dataclass(frozen=True, slots=True)
class Source:
    """A file in the state in which it was opened.

    `path` is the requested path. `real_path` has its links resolved and is the one that is read.
    """

    path: Path
    real_path: Path
    sha256: str


def hash_file(path: Path) -> str:
    """Compute the SHA-256 of a file, given its resolved path. Blocking."""
    with os.fdopen(open_resolved(path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_source(
    text: str,
    extensions: Collection[str],
    roots: Sequence[Path],
    digest: Callable[[Path], str] = hash_file,
) -> Source:
    """Check the path of a file and hash its content. Blocking.

    With `roots`, a file outside of them is reported as missing, so that clients can't find out
    what else is on the disk.

    Raises:
        FileMissing: there is no such file, it is no regular file, or it may not be read.
        UnsupportedFile: its extension is not in `extensions`.
    """
    path = Path(os.path.normpath(text))
    real_path = _resolve(path, text)
    if roots and not any(real_path.is_relative_to(root) for root in roots):
        raise _missing(text)
    _check_is_file(real_path, text)
    if path.suffix.lower() not in extensions:
        raise UnsupportedFile(
            f"Unsupported file type: {path.suffix or path.name!r}. "
            f"Supported are: {', '.join(sorted(extensions))}."
        )
    return Source(path, real_path, _hash(real_path, text, digest))


class Digests:
    """Cache of SHA-256 hashes, valid while size, times and inode of a file are unchanged.

    A file that was modified just before it was hashed is not cached: it may be modified again
    within the same tick of the clock.
    """

    TICK_S = 2.0

    def __init__(self) -> None:
        self._known: dict[Path, tuple[tuple[int, ...], str]] = {}

    def __call__(self, path: Path) -> str:
        """Return the hash of the file. Blocking."""
        status = path.stat()
        state = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if (known := self._known.get(path)) and known[0] == state:
            return known[1]
        sha256 = hash_file(path)
        if time.time() - max(status.st_mtime, status.st_ctime) > self.TICK_S:
            self._known[path] = (state, sha256)
        return sha256


def check_unchanged(source: Source) -> None:
    """Check that the file still has the content that was hashed. Blocking.

    Raises:
        ExtractionFailed: the content has changed.
    """
    try:
        same = _hash(source.real_path, str(source.path)) == source.sha256
    except FileMissing:
        same = False
    if not same:
        raise ExtractionFailed(
            f"{source.path.name} changed while it was being read. "
            "Wait until it has been written completely, then try again."
        )


def _resolve(path: Path, text: str) -> Path:
    if not path.is_absolute():
        raise FileMissing(f"File not found: {text}. Give the absolute path of the file.")
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError) as error:  # a NUL, a loop of links, too long
        raise _missing(text) from error


def _check_is_file(path: Path, text: str) -> None:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise _missing(text) from error
    if stat.S_ISDIR(mode):
        raise FileMissing(f"File not found: {text} is a folder. Give the path of a file in it.")
    if not stat.S_ISREG(mode):
        raise FileMissing(f"File not found: {text} is not an ordinary file.")


def _hash(path: Path, text: str, digest: Callable[[Path], str] = hash_file) -> str:
    try:
        return digest(path)
    except PermissionError as error:
        raise FileUnreadable(
            f"File not found: {text} may not be read by this server. Change its permissions."
        ) from error
    except OSError as error:
        raise _missing(text) from error


def _missing(text: str) -> FileMissing:
    return FileMissing(f"File not found: {text}. Check the path, as this server's machine sees it.")
