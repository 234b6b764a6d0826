"""Changes of folders: which of them must be indexed again, as files change."""

import math
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from quinion.extract.formats import INDEXED

QUIET_S = 1.0
"""Time without changes before a folder is indexed, so that a program can finish writing a file."""
MAX_WAIT_S = 30.0
"""Longest wait for that quiet period, in a folder that changes all the time."""
POLL_MS = 100
"""Interval between two checks for file-system events."""


Update = Callable[[list[Path]], Awaitable[None]]
"""Brings the index of these folders up to date."""


async def watch_folders(folders: Sequence[Path], update: Update, *, recursive: bool = True) -> None:
    """Update all folders once, and then those in which documents have changed, until cancelled."""
    send, changes = anyio.create_memory_object_stream[set[Path]](math.inf)
    async with changes, anyio.create_task_group() as group:
        # Started before the first run, so that changes during that run are not missed.
        group.start_soon(_send_changes, folders, recursive, send)
        await update(list(folders))
        async for some in changes:
            changed = some | await _wait_until_quiet(changes)
            touched = [one for one in folders if any(path.is_relative_to(one) for path in changed)]
            await update(touched)


async def _wait_until_quiet(changes: MemoryObjectReceiveStream[set[Path]]) -> set[Path]:
    """Collect further changes until none arrives for `QUIET_S`."""
    changed: set[Path] = set()
    with anyio.move_on_after(MAX_WAIT_S):
        while True:
            with anyio.move_on_after(QUIET_S) as pause:
                changed |= await changes.receive()
            if pause.cancelled_caught:
                break
    return changed


async def _send_changes(
    folders: Sequence[Path], recursive: bool, send: MemoryObjectSendStream[set[Path]]
) -> None:
    """Send file-system changes of documents and folders as they happen."""
    # Imported here: most runs do not watch.
    from watchfiles import Change, awatch  # noqa: PLC0415

    def concerns(_: Change, text: str) -> bool:
        path = Path(text)
        # Anything but a file may be a folder that was moved in, or a deleted path.
        return path.suffix.lower() in INDEXED or not path.is_file()

    async with send:
        async for changes in awatch(
            *folders, watch_filter=concerns, step=POLL_MS, debounce=POLL_MS, recursive=recursive
        ):
            await send.send({Path(path) for _, path in changes})
