"""One folder, one engine: the lock that every process takes before it opens a store.

Two processes that write one embedded Chroma folder lose vectors without an error, so a
second one must be kept out or sent to the first. The kernel drops the lock when its
holder dies, however it dies; the note inside says who holds it and where it answers.
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
    """Who holds a folder: its process, the socket where other processes of the same user find
    all servers, and the address of each server that it has on HTTP."""

    pid: int
    version: str = ""
    socket: str = ""
    addresses: Mapping[str, str] = field(default_factory=dict)


class FolderLock:
    """A held lock; `announce` tells others where its holder can be reached."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def announce(self, holder: Holder) -> None:
        """Replace the note. One small write: a reader sees the old, the new or nothing."""
        note = json.dumps(asdict(holder)).encode()
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, note, 0)


@contextmanager
def hold(folder: Path, version: str) -> Iterator[FolderLock]:
    """Take the folder for this process, creating it when it is not there.

    Raises:
        HomeInUse: another process holds it.
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
            raise in_use(folder) from error
        lock = FolderLock(descriptor)
        lock.announce(Holder(os.getpid(), version))
        yield lock
    finally:
        os.close(descriptor)


def read_holder(folder: Path) -> Holder | None:
    """The note of whoever took the folder last; they may be gone since."""
    try:
        note = json.loads((folder / LOCK_NAME).read_text())
        return Holder(
            int(note["pid"]), str(note["version"]), str(note["socket"]), dict(note["addresses"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_held(folder: Path) -> bool:
    """Whether some process holds the folder now."""
    try:
        with (folder / LOCK_NAME).open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    return False


def in_use(folder: Path) -> HomeInUse:
    """What is said to whoever can't have the folder."""
    holder = read_holder(folder)
    who = f"process {holder.pid}" if holder else "another process"
    return HomeInUse(
        f"{folder} is in use by {who}. Use the server that it runs, stop it, "
        "or set QUINION_HOME to another folder.",
        folder,
    )


def unusable(folder: Path, error: OSError) -> BadSetting:
    """What is said when the folder can't be made or written."""
    return BadSetting(
        f"The folder {folder} cannot be used ({error.strerror}). "
        "Make it writable, or name another with the variable that names it: QUINION_HOME, "
        "CHROMA_PERSIST_DIR or DOCVEC_DB_PATH."
    )
