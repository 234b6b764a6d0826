"""Open a resolved path without following symbolic links.

A resolved path contains no links. A user who can write to one of its folders can replace a part of
it by a link afterwards; opening the path by name would then read another file, possibly a forbidden
one. So each folder is opened relative to its parent, and links are refused.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

# O_PATH also opens folders that may be traversed but not listed.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: do not wait for a writer if the file has been replaced by a pipe.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_resolved(path: Path) -> int:
    """Open the file for reading and return its descriptor.

    Raises:
        OSError: the file no longer exists, or its path contains a link.
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
    """Yield a path with the same name that always refers to the file opened here.

    It is for libraries that open files by name. It needs Linux's `/proc/self/fd`; on other systems
    the path itself is returned.

    Raises:
        OSError: see `open_resolved`.
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
