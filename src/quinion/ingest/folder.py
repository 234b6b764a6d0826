"""The files of a folder: which of them are documents, and which places could not be looked at."""

import errno
import os
from collections.abc import Collection, Iterator
from pathlib import Path

from quinion.errors import FileMissing, FileUnreadable, InvalidInput


def check_folder(path: Path) -> None:
    """Make sure that there is a folder which may be listed. Blocking.

    Raises:
        FileMissing, FileUnreadable: it is not there, or not for us to read.
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
    """The files with such an extension, in order, and an error for each folder that is closed,
    and for each file whose name is not text: nobody could be told of it, or name it.

    Hidden files and folders are passed over. Links to folders are followed, each folder is
    entered once, so a loop of links ends. Blocking.
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


def _name(path: Path) -> Path | OSError:
    shown = os.fsencode(path).decode(errors="replace")
    return path if shown == str(path) else OSError(errno.EILSEQ, "its name is not text", shown)


def _enter(folder: Path, entered: set[tuple[int, int]]) -> bool:
    try:
        identity = _identity(folder)
    except OSError:
        return True  # the walk will say what is wrong with it
    if identity in entered:
        return False
    entered.add(identity)
    return True


def _identity(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    return status.st_dev, status.st_ino
