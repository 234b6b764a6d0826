"""The door of a held home: where other processes of the same user find its servers.

Whoever holds a home, `quinion serve`, an engine in the background or a command, opens a Unix
socket and names it in the lock. A client greets (`greeting`), and then MCP goes both ways, one
message a line. The permissions of the socket are the only key that is needed.
"""

import logging
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import anyio
from anyio.abc import ByteStream
from mcp.types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from quinion import __version__
from quinion.concurrency import as_raised
from quinion.daemon.handshake import Hello, Reply
from quinion.daemon.jsonrpc_stream import GONE, Lines, exchange
from quinion.engine import Engine
from quinion.errors import HomeInUse, InvalidInput, QuinionError
from quinion.servers.base import ContractServer
from quinion.servers.client_cwd import CLIENT_FOLDER
from quinion.servers.registry import COMMON, Entry, differing, find_server
from quinion.settings import Settings
from quinion.store.lock import Holder

log = logging.getLogger(__name__)

SOCKET_NAME = "engine.sock"
LONGEST_PATH = 100
"""Bytes; kernels take 104 (macOS) or 108 (Linux) for the path of a socket."""
HELLO_S = 10.0
FIRST_CLIENT_S = 10.0
"""How long whoever started an engine may take to come in."""
DRAIN_S = 10.0
"""How long calls may take to end when the engine leaves."""

CANCELLED = "notifications/cancelled"
ENDLESS = frozenset({"subscriptions/listen"})
"""Requests that are answered when somebody leaves, not before."""


class Door:
    """The servers of one engine, and the clients that came in by its socket. Use `open_door`.

    `background`: the engine is there for these clients only, and leaves when nobody needs it.
    """

    def __init__(self, engine: Engine, path: Path, *, background: bool) -> None:
        self.engine = engine
        self._path = path
        self._background = background
        self._servers: dict[tuple[str, str], tuple[Settings, ContractServer]] = {}
        self._clients = 0
        self._calls: set[tuple[int, str | int]] = set()
        self._leaving = False
        self._changed = anyio.Event()

    def announce(self, addresses: Mapping[str, str] | None = None) -> None:
        """Note in the lock where the socket is, and the addresses on HTTP."""
        self.engine.lock.announce(
            Holder(os.getpid(), __version__, str(self._path), dict(addresses or {}))
        )

    def server(self, entry: Entry, settings: Settings) -> ContractServer:
        """The server, built when it is first wanted.

        Raises:
            HomeInUse: the engine, or this server, has settings that differ.
        """
        key = entry.name, entry.partition(settings)
        if key not in self._servers:
            self._check(differing(COMMON, settings, self.engine.settings))
            self._servers[key] = settings, entry.load().build(self.engine.seen_with(settings))
        known, server = self._servers[key]
        self._check(entry.differing(settings, known))
        return server

    async def make_ready(self, server: ContractServer) -> None:
        """Have all at hand when a client first asks.

        Raises:
            QuinionError: something does not work; the next call tries again.
        """
        await server.warm()

    def leave(self) -> None:
        """Let nobody in any more."""
        self._leaving = True
        self._tell()

    async def wait_until_leaving(self) -> None:
        """Return when the engine should end: it was told to, or nobody has come for a while."""
        patience = max(FIRST_CLIENT_S, self.engine.settings.idle_seconds)
        while not self._leaving:
            alone = self._background and not self._clients
            with anyio.move_on_after(patience if alone else None) as wait:
                await self._changed.wait()
                patience = self.engine.settings.idle_seconds
            if wait.cancelled_caught:
                self.leave()

    async def drain(self) -> None:
        """Wait for the end of the calls under way, for a while."""
        with anyio.move_on_after(DRAIN_S, shield=True):
            while self._calls:
                await self._changed.wait()

    async def attend(self, stream: ByteStream) -> None:
        """Serve one client until it goes; what happens to it is no concern of the others."""
        try:
            async with stream:
                await self._greet(Lines(stream))
        except GONE:
            pass
        except Exception:
            log.exception("a client was lost")

    async def _greet(self, lines: Lines) -> None:
        line = None
        with anyio.move_on_after(HELLO_S):
            line = await lines.read()
        if line is None:
            return
        # From here to the counting nothing is awaited: who is let in is not left alone.
        reply, welcome = self._judge(line)
        if welcome is None:
            await lines.write(reply.encode())
            return
        server, folder = welcome
        with self._counted():
            await lines.write(reply.encode())
            CLIENT_FOLDER.set(folder)
            await self._serve(server, lines)

    def _judge(self, line: bytes) -> tuple[Reply, tuple[ContractServer, str] | None]:
        """What the client is told, and the server that it gets, with the folder it is in."""
        if self._leaving:
            return Reply(leaving=True), None
        try:
            hello = Hello.decode(line)
            if not hello.server:
                return self._judge_wish_to_leave(), None
            return Reply(), (self._admit(hello), hello.folder)
        except HomeInUse as error:
            if self._background and not self._clients:
                self.leave()
                return Reply(leaving=True), None
            return Reply.refusing(error), None
        except QuinionError as error:
            return Reply.refusing(error), None

    def _judge_wish_to_leave(self) -> Reply:
        if not self._background:
            raise HomeInUse(
                f"{self._who()} was not started in the background. End it where it runs, or set "
                "QUINION_HOME to another folder."
            )
        self.leave()
        return Reply(leaving=True)

    def _admit(self, hello: Hello) -> ContractServer:
        if hello.version != __version__:
            raise HomeInUse(
                f"{self._who()} is quinion {__version__}, and this is quinion {hello.version}. "
                "Close the clients that use it, or run quinion stop, and start again."
            )
        try:
            settings = Settings.model_validate(hello.settings)
        except ValueError as error:
            raise InvalidInput(f"This is no greeting of quinion's ({error}).") from error
        return self.server(find_server(hello.server), settings)

    async def _serve(self, server: ContractServer, lines: Lines) -> None:
        client = id(lines)

        def on_read(message: JSONRPCMessage) -> None:
            if isinstance(message, JSONRPCRequest) and message.method not in ENDLESS:
                self._calls.add((client, message.id))
            elif isinstance(message, JSONRPCNotification) and message.method == CANCELLED:
                # Nobody waits for its answer.
                self._calls.discard((client, (message.params or {}).get("requestId", "")))

        def on_written(message: JSONRPCMessage) -> None:
            if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
                self._calls.discard((client, message.id))
                self._tell()

        try:
            async with (
                exchange(lines, on_read, on_written) as (read, write),
                anyio.create_task_group() as group,
            ):
                group.start_soon(self._make_ready, server)
                await server.run_on(read, write)
                group.cancel_scope.cancel()
        finally:
            self._calls = {call for call in self._calls if call[0] != client}

    async def _make_ready(self, server: ContractServer) -> None:
        """If it fails, the asking will tell."""
        with suppress(QuinionError):
            await self.make_ready(server)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._clients += 1
        self._tell()
        try:
            yield
        finally:
            self._clients -= 1
            self._tell()

    def _check(self, differing: list[str]) -> None:
        if differing:
            raise HomeInUse(
                f"{self._who()} was started with other settings: {', '.join(differing)}. Start "
                "with the same, close the clients that use it (or run quinion stop), or set "
                "QUINION_HOME to another folder."
            )

    def _who(self) -> str:
        return f"The process {os.getpid()}, which has {self.engine.settings.home},"

    def _tell(self) -> None:
        """Wake those who wait for something to change."""
        self._changed.set()
        self._changed = anyio.Event()


@asynccontextmanager
async def open_door(engine: Engine, *, background: bool = False) -> AsyncIterator[Door]:
    """Let other processes in for as long as this lasts; at its end their calls may end first."""
    with _choose_path(engine.settings.home) as path, as_raised():
        async with (
            await anyio.create_unix_listener(path, mode=0o600) as listener,
            anyio.create_task_group() as group,
        ):
            door = Door(engine, path, background=background)
            group.start_soon(listener.serve, door.attend)
            door.announce()
            try:
                yield door
            finally:
                door.leave()
                await door.drain()
                group.cancel_scope.cancel()


@contextmanager
def _choose_path(home: Path) -> Iterator[Path]:
    """Beside the lock, or where that path is too long, in a temporary folder of our own."""
    path = home / SOCKET_NAME
    folder = None
    if len(os.fsencode(path)) > LONGEST_PATH:
        folder = tempfile.mkdtemp(prefix="quinion-")
        path = Path(folder) / SOCKET_NAME
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
