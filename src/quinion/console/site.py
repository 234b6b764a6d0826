"""The console as a site of `quinion serve`: built at its first request.

Until then it costs a port, unless folders are watched. The templates and their library are
imported when a browser comes.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager

import anyio
from anyio.abc import TaskStatus
from starlette.types import ASGIApp, Receive, Scope, Send

from quinion.console.session import Sessions
from quinion.servers.base import ContractServer
from quinion.settings import Settings
from quinion.telemetry.metrics import Family

NAME = "console"
HEALTH = "/health"
WATCHED = "watched-folders.json"
"""File in the home with the watched folders."""


class LazyConsole:
    """ASGI app that builds the console when the first request comes."""

    def __init__(
        self,
        settings: Settings,
        sessions: Sessions,
        servers: Mapping[str, Callable[[], ContractServer]],
        measure: Callable[[], Iterable[Family]],
        count_client: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """`count_client` keeps an engine in the background from being idle."""
        self._settings = settings
        self._sessions = sessions
        self._servers = servers
        self._measure = measure
        self._count_client = count_client
        self._app: ASGIApp | None = None
        self._lock = anyio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            async with anyio.create_task_group() as self._group:
                if (self._settings.home / WATCHED).exists():
                    self._app = await self._group.start(self._open)
                await _answer_lifespan(receive, send)
                self._group.cancel_scope.cancel()
            return
        if self._app is None:
            async with self._lock:
                self._app = self._app or await self._group.start(self._open)
        if scope["path"] == HEALTH:
            await self._app(scope, receive, send)
            return
        with self._count_client():
            await self._app(scope, receive, send)

    async def _open(self, *, task_status: TaskStatus[ASGIApp]) -> None:
        """Build the console, and run its queue until the server stops."""
        from quinion.console.open import open_console  # noqa: PLC0415

        async with open_console(
            self._settings, self._sessions, self._servers, self._measure, self._count_client
        ) as app:
            task_status.started(app)
            await anyio.sleep_forever()


async def _answer_lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
