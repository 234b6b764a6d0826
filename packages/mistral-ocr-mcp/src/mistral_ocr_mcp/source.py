"""Input file: resolved, checked and opened once, then read only through that handle."""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from mistral_ocr_mcp.errors import Failure, refuse

PDF = "application/pdf"
CONTENT_TYPES = {
    ".pdf": PDF,
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a pipe that was swapped in would block forever.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class Source:
    """An open input file. `name` is the file name that the caller gave."""

    name: str
    content_type: str
    stream: BinaryIO

    @property
    def is_pdf(self) -> bool:
        return self.content_type == PDF

    @property
    def stem(self) -> str:
        return Path(self.name).stem


@contextmanager
def open_source(file_path: str, roots: Sequence[Path] = ()) -> Iterator[Source]:
    """Open the file at `file_path`.

    Links are followed, and the target must have a supported type too: otherwise a link named
    `x.pdf` could cause the upload of any file. If `roots` are given, a file outside of them is
    reported as missing.

    Raises:
        Failure: the path is relative, missing, not a file, unsupported, empty or unreadable.
    """
    path = _resolve(file_path, roots)
    content_type = CONTENT_TYPES.get(path.suffix.lower())
    if content_type is None:
        raise Failure(
            f"Unsupported file type: {file_path} ({path.suffix or 'no extension'}). "
            f"Supported: {', '.join(CONTENT_TYPES)}"
        )
    with _open(path, roots) as stream:
        yield Source(Path(file_path).name, content_type, stream)


def _resolve(file_path: str, roots: Sequence[Path]) -> Path:
    if not Path(file_path).is_absolute():
        raise Failure(f"file_path must be an absolute path: {file_path}")
    missing = Failure(f"File not found: {file_path!r}")
    try:
        path = Path(file_path).resolve(strict=True)
    except PermissionError as cause:
        # Do not reveal which folders exist outside of the roots.
        raise (missing if roots else refuse("open", file_path, cause)) from cause
    except (OSError, RuntimeError, ValueError) as cause:
        raise missing from cause
    if roots and _root_of(path, roots) is None:
        raise missing
    if not path.is_file():
        raise Failure(f"Not a regular file: {file_path}")
    return path


def _root_of(path: Path, roots: Sequence[Path]) -> Path | None:
    return next((root for root in roots if path.is_relative_to(root)), None)


def _open(path: Path, roots: Sequence[Path]) -> BinaryIO:
    root = _root_of(path, roots)
    try:
        handle = os.open(path, _FILE) if root is None else _open_below(root, path)
    except OSError as cause:
        raise refuse("open", path, cause) from cause
    stream = os.fdopen(handle, "rb")
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        stream.close()
        raise Failure(f"Not a regular file: {path}")
    if found.st_size == 0:
        stream.close()
        raise Failure(f"The file is empty: {path}")
    return stream


def _open_below(root: Path, path: Path) -> int:
    """Open step by step without following links: the path may have changed since resolving."""
    *folders, name = path.relative_to(root).parts or (".",)
    handle = os.open(root, _FOLDER)
    try:
        for folder in folders:
            below = os.open(folder, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = below
        return os.open(name, _FILE, dir_fd=handle)
    finally:
        os.close(handle)
