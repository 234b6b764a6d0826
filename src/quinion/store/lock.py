"""Folder lock that a process acquires before it opens a store.

Two processes that write one embedded Chroma folder lose vectors without an error, so the second
one must be rejected or use the first one's engine. The kernel releases the lock when its holder
exits or is killed. The lock file's content identifies the holder and its socket.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from quinion.errors import BadSetting, HomeInUse

LOCK_NAME = "engine.lock"


@dataclass(frozen=True)
class Holder:
    """Holder of a lock: its process id and version, its socket, where other processes of the same
    user reach all servers, and the address of each server that it runs on HTTP."""

    pid: int
    version: str = ""
    socket: str = ""
    addresses: Mapping[str, str] = field(default_factory=dict)


class FolderLock:
    """Lock of a folder; `announce` publishes how its holder can be reached.

    Without a descriptor another process has it, which shares the folder.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    @property
    def is_held(self) -> bool:
        """Whether this process has the lock."""
        return self._descriptor is not None

    def announce(self, holder: Holder) -> None:
        """Replace the holder in the file. It is one small write: readers see the old holder, the
        new one or an empty file. Does nothing if another process has the lock."""
        if self._descriptor is None:
            return
        note = json.dumps(asdict(holder)).encode()
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, note, 0)


@contextmanager
def hold(folder: Path, version: str, *, share: bool = False) -> Iterator[FolderLock]:
    """Lock the folder for this process, and create it if it does not exist.

    With `share`, a folder that another process has locked is used nevertheless.

    Raises:
        HomeInUse: another process has locked it.
        BadSetting: it cannot be created or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise unusable(folder, error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if not share:
                raise in_use(folder) from error
            yield FolderLock(None)
            return
        lock = FolderLock(descriptor)
        lock.announce(Holder(os.getpid(), version))
        yield lock
    finally:
        os.close(descriptor)


def read_holder(folder: Path) -> Holder | None:
    """Read the last holder of the folder, which may have exited since."""
    try:
        note = json.loads((folder / LOCK_NAME).read_text())
        return Holder(
            int(note["pid"]), str(note["version"]), str(note["socket"]), dict(note["addresses"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_held(folder: Path) -> bool:
    """Whether a process holds the lock now."""
    try:
        with (folder / LOCK_NAME).open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    return False


def in_use(folder: Path) -> HomeInUse:
    """Build the error for a folder that another process has locked."""
    holder = read_holder(folder)
    who = f"process {holder.pid}" if holder else "another process"
    return HomeInUse(
        f"{folder} is in use by {who}. Use the server that it runs, stop it, "
        "or set QUINION_HOME to another folder.",
        folder,
    )


def unusable(folder: Path, error: OSError) -> BadSetting:
    """Build the error for a folder that can't be created or written."""
    return BadSetting(
        f"The folder {folder} cannot be used ({error.strerror}). "
        "Make it writable, or set the variable that names it to another folder: QUINION_HOME, "
        "CHROMA_PERSIST_DIR or DOCVEC_DB_PATH."
    )
