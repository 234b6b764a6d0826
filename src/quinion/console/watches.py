"""Watched folders: their files are indexed again as they change, and vanished ones removed.

What is watched is kept in the home, so that it is watched again after a restart.
"""

import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from quinion.concurrency import in_thread
from quinion.console.calls import Calls
from quinion.console.jobs import Jobs
from quinion.console.site import WATCHED
from quinion.console.views import folders
from quinion.errors import InvalidInput
from quinion.ingest.folders.changes import watch_folders
from quinion.servers import docvec

log = logging.getLogger(__name__)


class Watches:
    """The watched folders. `run` must be entered before one is added."""

    def __init__(
        self,
        home: Path,
        calls: Calls,
        jobs: Jobs,
        count_client: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """`count_client` keeps an engine in the background running while a folder is watched."""
        self._file = home / WATCHED
        self._calls = calls
        self._jobs = jobs
        self._count_client = count_client
        self._scopes: dict[str, anyio.CancelScope] = {}
        self._group: TaskGroup

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Watch within the block, at first what was watched before."""
        async with anyio.create_task_group() as self._group:
            for folder in await in_thread(self._read):
                self._begin(folder)
            try:
                yield
            finally:
                self._group.cancel_scope.cancel()

    @property
    def folders(self) -> list[str]:
        """The watched folders."""
        return sorted(self._scopes)

    async def start(self, folder: str) -> None:
        """Watch a folder, also after a restart.

        Raises:
            InvalidInput: there is no such folder.
        """
        if not await in_thread(Path(folder).is_dir):
            raise InvalidInput(f"There is no folder {folder}.")
        if folder not in self._scopes:
            self._begin(folder)
            await in_thread(self._write)

    async def stop(self, folder: str) -> None:
        """Watch a folder no more; its files stay indexed."""
        if scope := self._scopes.pop(folder, None):
            scope.cancel()
            await in_thread(self._write)

    def _begin(self, folder: str) -> None:
        self._scopes[folder] = anyio.CancelScope()
        self._group.start_soon(self._watch, folder, self._scopes[folder])

    async def _watch(self, folder: str, scope: anyio.CancelScope) -> None:
        with scope, self._count_client():
            try:
                await watch_folders([Path(folder)], partial(self._update, folder))
            except Exception:  # the folder is gone, or the system watches no more folders
                log.exception("%s is not watched any more", folder)
                if self._scopes.get(folder) is scope:
                    del self._scopes[folder]

    async def _update(self, folder: str, _: list[Path]) -> None:
        job = self._jobs.add(folder, docvec.NAME, "index_directory", {"dir_path": folder})
        await job.ended.wait()
        await folders.prune(self._calls, within=folder)

    def _read(self) -> list[str]:
        if not self._file.exists():
            return []
        return [str(one) for one in json.loads(self._file.read_text(encoding="utf-8"))]

    def _write(self) -> None:
        scratch = self._file.with_suffix(".part")
        scratch.write_text(json.dumps(self.folders), encoding="utf-8")
        scratch.replace(self._file)
