"""Opens a file that was resolved and admitted, and nothing that was put in its place since.

A path that was resolved has no link in it. Whoever may write to one of its folders can put a link
there afterwards, and what is opened by name is then another file, perhaps one that nobody may
read. So each folder is opened from the one above it, and none that is a link.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

# Where there is O_PATH, a folder that may be passed through and not be listed is no obstacle.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not waiting for a writer, should the file have become a pipe since it was looked at.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_resolved(path: Path) -> int:
    """A descriptor of the file, for reading.

    Raises:
        OSError: it is not there any more, or there is a link on the way to it.
    """
    root, *folders, name = path.parts
    handle = os.open(root, _FOLDER)
    try:
        for folder in folders:
            below = os.open(folder, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = below
        return os.open(name, _FILE, dir_fd=handle)
    finally:
        os.close(handle)


@contextmanager
def open_safely(path: Path) -> Iterator[Path]:
    """A path of the same name for libraries that open files by name: it leads to what was opened
    here, whatever lies at the old path by then. Only Linux has such paths; elsewhere it is the old.

    Raises:
        OSError: as above.
    """
    descriptor = open_resolved(path)
    try:
        if sys.platform != "linux":
            yield path
            return
        with TemporaryDirectory(prefix="quinion-") as folder:
            link = Path(folder) / path.name
            link.symlink_to(f"/proc/self/fd/{descriptor}")
            yield link
    finally:
        os.close(descriptor)
