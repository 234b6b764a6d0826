"""Folder scan: find the documents in a folder, and report unreadable places."""

import errno
import os
from collections.abc import Collection, Iterator
from pathlib import Path

from quinion.errors import FileMissing, FileUnreadable, InvalidInput


def check_folder(path: Path) -> None:
    """Check that the folder exists and can be listed. Blocking.

    Raises:
        FileMissing, FileUnreadable: it does not exist, or can't be listed.
        InvalidInput: it is a file.
    """
    try:
        with os.scandir(path):
            pass
    except PermissionError as error:
        raise FileUnreadable(f"Permission denied: {path}") from error
    except NotADirectoryError as error:
        raise InvalidInput(f"Not a directory: {path}") from error
    except (OSError, ValueError) as error:
        raise FileMissing(f"Directory not found: {path}") from error


def find_files(
    folder: Path, extensions: Collection[str], *, recursive: bool
) -> Iterator[Path | OSError]:
    """Find the files with one of the extensions, in order. Blocking.

    An error is yielded for each unreadable folder, and for each file whose name can't be decoded,
    because the name could be neither reported nor passed in. Hidden files and folders are skipped.
    Links to folders are followed, but each folder is entered only once, so link loops end.
    """
    entered = {_identity(folder)}
    closed: list[OSError] = []
    for place, folders, names in os.walk(folder, followlinks=True, onerror=closed.append):
        yield from closed
        closed.clear()
        folders[:] = sorted(
            name
            for name in folders
            if recursive and not name.startswith(".") and _enter(Path(place, name), entered)
        )
        for name in sorted(names):
            if not name.startswith(".") and Path(name).suffix.lower() in extensions:
                yield _name(Path(place, name))
    yield from closed


def is_missing(path: str) -> bool:
    """Whether the path does not exist. A path without permission counts as existing."""
    try:
        Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _name(path: Path) -> Path | OSError:
    shown = os.fsencode(path).decode(errors="replace")
    return path if shown == str(path) else OSError(errno.EILSEQ, "its name is not text", shown)


def _enter(folder: Path, entered: set[tuple[int, int]]) -> bool:
    try:
        identity = _identity(folder)
    except OSError:
        return True  # os.walk reports the error
    if identity in entered:
        return False
    entered.add(identity)
    return True


def _identity(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    return status.st_dev, status.st_ino
