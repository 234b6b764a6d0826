"""The folders of a home: where its store is, and the locks on them."""

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from quinion import __version__
from quinion.errors import BadSetting
from quinion.settings import Settings
from quinion.store.factory import STORE, StorePlace
from quinion.store.lock import FolderLock, hold

log = logging.getLogger(__name__)

OWNER_ONLY = 0o077
"""The umask of every process that writes a home."""


def store_place(settings: Settings) -> StorePlace:
    """Where the store of these settings is.

    In the home; or in the folder that CHROMA_PERSIST_DIR names, beside Chroma's files, so that
    the folder is self-contained.
    """
    mirror = settings.chroma_folder
    folder = None
    if mirror is not None:
        own = _is_same(mirror, settings.home / "chroma")
        folder = (settings.home if own else mirror) / STORE
    return StorePlace(
        settings.home, folder, settings.chroma_url or mirror, mirrored=settings.mirror == "on"
    )


def _is_same(one: Path, other: Path) -> bool:
    """Whether both lead to one folder, by whatever symlinks and mounts."""
    try:
        return one.samefile(other)
    except OSError:  # one of them does not exist yet
        return one.resolve() == other.resolve()


@contextmanager
def hold_home(settings: Settings) -> Iterator[FolderLock]:
    """Take the home, and the folder of its store where that is elsewhere, for this process.

    Raises:
        HomeInUse: another process has one of them.
        BadSetting: one of them cannot be used.
    """
    with ExitStack() as stack:
        umask = os.umask(OWNER_ONLY)
        stack.callback(os.umask, umask)
        lock = stack.enter_context(hold(settings.home, __version__))
        make_private(settings.home)
        place = store_place(settings)
        if place.folder and place.folder.parent != settings.home:
            stack.enter_context(hold(place.folder.parent, __version__))
        elif isinstance(place.target, Path):
            # Another home may be pointed at it. What is wrong with a mirror stops nobody.
            with suppress(BadSetting):
                stack.enter_context(hold(place.target, __version__))
        yield lock


def make_private(home: Path) -> None:
    """Let only the owner read the home and all that is in it.

    A home of the right mode was made so before, with everything in it: the umask sees to that.
    One that belongs to another user, as some volumes of containers do, stays as it is.
    """
    try:
        if home.stat().st_mode & OWNER_ONLY == 0:
            return
        for parent, folders, files in os.walk(home):
            for name in (*folders, *files):
                path = Path(parent) / name
                if not path.is_symlink():
                    path.chmod(path.stat().st_mode & ~OWNER_ONLY)
        home.chmod(0o700)  # last, so that a walk that was cut short is done again
    except OSError as error:
        log.warning("%s may be read by other users: its mode can't be changed (%s)", home, error)
