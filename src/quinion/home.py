"""Folders of a home: the location of its store, locks and permissions."""

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from quinion import __version__
from quinion.errors import BadSetting
from quinion.settings import Settings
from quinion.store.factory import RESTORING, STORE, StorePlace
from quinion.store.lock import FolderLock, hold

log = logging.getLogger(__name__)

OWNER_ONLY = 0o077
"""The umask of every process that writes a home."""


def store_place(settings: Settings) -> StorePlace:
    """The location of the store for these settings.

    The store is in the database, if there is one. Else it is in the home, or in the folder that
    CHROMA_PERSIST_DIR names, beside Chroma's files, so that this folder is self-contained.
    """
    if settings.database:
        standby = settings.read_url.get_secret_value() if settings.read_url else None
        mirrored = settings.mirror == "on" and settings.chroma_url is not None
        return StorePlace(
            settings.home, None, settings.chroma_url, mirrored, settings.database, standby
        )
    mirror = settings.chroma_folder
    folder = None
    if mirror is not None:
        own = _is_same(mirror, settings.home / "chroma")
        folder = (settings.home if own else mirror) / STORE
    return StorePlace(
        settings.home, folder, settings.chroma_url or mirror, mirrored=settings.mirror == "on"
    )


def _is_same(one: Path, other: Path) -> bool:
    """Whether both paths lead to the same folder, through any symlinks and mounts."""
    try:
        return one.samefile(other)
    except OSError:  # one of them does not exist yet
        return one.resolve() == other.resolve()


@contextmanager
def hold_home(settings: Settings) -> Iterator[FolderLock]:
    """Lock the home for this process, and the folder of its store if that is elsewhere.

    If the store is in a database, other processes may use the home too. The first one has the lock,
    and is found by clients.

    Raises:
        HomeInUse: another process has locked one of them.
        BadSetting: one of them cannot be used.
    """
    with ExitStack() as stack:
        umask = os.umask(OWNER_ONLY)
        stack.callback(os.umask, umask)
        lock = stack.enter_context(hold(settings.home, __version__, share=bool(settings.database)))
        make_private(settings.home)
        place = store_place(settings)
        if place.folder and place.folder.parent != settings.home:
            stack.enter_context(hold(place.folder.parent, __version__))
        elif isinstance(place.target, Path):
            # Another home may use the same mirror. A mirror that can't be locked is no failure.
            with suppress(BadSetting):
                stack.enter_context(hold(place.target, __version__))
        yield lock


def measure_home(home: Path) -> dict[str, int]:
    """Sum the bytes of each folder in a home, and of its files as `files`. Blocking."""
    sizes: dict[str, int] = {}
    for place, _, names in os.walk(home):
        parts = Path(place).relative_to(home).parts
        for name in names:
            with suppress(OSError):  # deleted meanwhile
                size = (Path(place) / name).lstat().st_size
                key = parts[0] if parts else "files"
                sizes[key] = sizes.get(key, 0) + size
    return sizes


def check_restored(home: Path) -> None:
    """Refuse a home into which a backup was restored only in part.

    Raises:
        BadSetting: the restore was interrupted.
    """
    if (home / RESTORING).exists():
        raise BadSetting(
            f"{home} has only a part of a backup, because its restore was interrupted. Run "
            "quinion restore with the backup again."
        )


def make_private(home: Path) -> None:
    """Restrict the home and everything in it to its owner.

    A home that already has the right mode is skipped: the umask covers new files. A home that
    belongs to another user, as some container volumes do, is left as it is.
    """
    try:
        if home.stat().st_mode & OWNER_ONLY == 0:
            return
        for parent, folders, files in os.walk(home):
            for name in (*folders, *files):
                path = Path(parent) / name
                if not path.is_symlink():
                    path.chmod(path.stat().st_mode & ~OWNER_ONLY)
        home.chmod(0o700)  # last, so that an interrupted walk is repeated
    except OSError as error:
        log.warning("Other users may read %s: its mode can't be changed (%s)", home, error)
