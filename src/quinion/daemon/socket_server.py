"""Socket server: gives other processes of the user access to the engine that holds a home.

The process that holds a home (`quinion serve`, a background engine or a command) opens a Unix
socket and writes its path into the lock file. A client sends a `handshake`; then MCP messages go
both ways, one per line. The file permissions of the socket are the only access control.
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
from quinion.daemon.jsonrpc_stream import CONNECTION_LOST, LineStream, exchange
from quinion.engine import Engine
from quinion.errors import HomeInUse, InvalidInput, QuinionError
from quinion.servers.base import ContractServer, serving
from quinion.servers.client_cwd import CLIENT_FOLDER
from quinion.servers.registry import COMMON, Entry, differing, find_server
from quinion.settings import Settings
from quinion.store.lock import Holder
from quinion.telemetry.logs import requests

log = logging.getLogger(__name__)

SOCKET_NAME = "engine.sock"
MAX_PATH_BYTES = 100
"""Maximum bytes of a socket path; kernels allow 104 (macOS) or 108 (Linux)."""
HANDSHAKE_S = 10.0
FIRST_CLIENT_S = 10.0
"""How long a new engine waits for its first client."""
DRAIN_S = 10.0
"""How long pending calls may take when the engine shuts down."""

CANCELLED = "notifications/cancelled"
LONG_LIVED = frozenset({"subscriptions/listen"})
"""Requests that stay open until the client disconnects; shutdown does not wait for them."""


class SocketServer:
    """Serves the MCP servers of one engine to the clients of its socket.

    Use `open_socket_server` to create one. In the `background`, the engine serves only these
    clients and shuts down when it has been idle.
    """

    def __init__(self, engine: Engine, path: Path, *, background: bool) -> None:
        self.engine = engine
        self._path = path
        self._background = background
        self._servers: dict[tuple[str, str], tuple[Settings, ContractServer]] = {}
        self._clients = 0
        self._calls: set[tuple[int, str | int]] = set()
        self._shutting_down = False
        self._changed = anyio.Event()

    def announce(self, addresses: Mapping[str, str] | None = None) -> None:
        """Write the socket path and the HTTP addresses into the lock file."""
        self.engine.lock.announce(
            Holder(os.getpid(), __version__, str(self._path), dict(addresses or {}))
        )

    def server(self, entry: Entry, settings: Settings) -> ContractServer:
        """The MCP server of an entry, built on first use.

        Raises:
            HomeInUse: the engine or this server runs with different settings.
        """
        key = entry.name, entry.partition(settings)
        if key not in self._servers:
            self._check_settings(differing(COMMON, settings, self.engine.settings))
            self._servers[key] = settings, entry.load().build(self.engine.with_settings(settings))
        known, server = self._servers[key]
        self._check_settings(entry.differing(settings, known))
        return server

    async def make_ready(self, server: ContractServer) -> None:
        """Load what the first call needs.

        Raises:
            QuinionError: loading failed; the next call tries again.
        """
        await server.warm()

    def shut_down(self) -> None:
        """Stop accepting clients."""
        self._shutting_down = True
        self._notify()

    async def wait_for_shutdown(self) -> None:
        """Wait until the engine should stop: on request, or when it has been idle too long."""
        timeout_s = max(FIRST_CLIENT_S, self.engine.settings.idle_seconds)
        while not self._shutting_down:
            idle = self._background and not self._clients
            with anyio.move_on_after(timeout_s if idle else None) as wait:
                await self._changed.wait()
                timeout_s = self.engine.settings.idle_seconds
            if wait.cancelled_caught:
                self.shut_down()

    async def drain(self) -> None:
        """Wait for pending calls, at most `DRAIN_S`."""
        with anyio.move_on_after(DRAIN_S, shield=True):
            while self._calls:
                await self._changed.wait()

    async def handle(self, stream: ByteStream) -> None:
        """Serve one client until it disconnects; its errors do not affect other clients."""
        try:
            async with stream:
                await self._handshake(LineStream(stream))
        except CONNECTION_LOST:
            pass
        except Exception:
            log.exception("connection to a client failed")

    async def _handshake(self, lines: LineStream) -> None:
        line = None
        with anyio.move_on_after(HANDSHAKE_S):
            line = await lines.read()
        if line is None:
            return
        # No await until the client is counted: otherwise the engine could stop as idle.
        reply, accepted = self._answer_hello(line)
        if accepted is None:
            await lines.write(reply.encode())
            return
        server, hello = accepted
        requests.info("client of %s connected", server.name)
        with self.count_client(), serving(command=hello.is_command):
            await lines.write(reply.encode())
            CLIENT_FOLDER.set(hello.folder)
            await self._serve(server, lines)

    def _answer_hello(self, line: bytes) -> tuple[Reply, tuple[ContractServer, Hello] | None]:
        """The reply to a handshake, and if accepted, the server and the request."""
        if self._shutting_down:
            return Reply(leaving=True), None
        try:
            hello = Hello.decode(line)
            if not hello.server:
                return self._answer_stop_request(), None
            return Reply(), (self._find_server(hello), hello)
        except HomeInUse as error:
            if self._background and not self._clients:
                self.shut_down()
                return Reply(leaving=True), None
            return Reply.refusing(error), None
        except QuinionError as error:
            return Reply.refusing(error), None

    def _answer_stop_request(self) -> Reply:
        if not self._background:
            raise HomeInUse(
                f"{self._describe_process()} was not started in the background. Stop it where it "
                "runs, or set QUINION_HOME to another folder."
            )
        self.shut_down()
        return Reply(leaving=True)

    def _find_server(self, hello: Hello) -> ContractServer:
        if hello.version != __version__:
            raise HomeInUse(
                f"{self._describe_process()} is quinion {__version__}, but this is quinion "
                f"{hello.version}. Close the clients that use it, or run quinion stop, and start "
                "again."
            )
        try:
            settings = Settings.model_validate(hello.settings)
        except ValueError as error:
            raise InvalidInput(f"Invalid settings in the handshake ({error}).") from error
        return self.server(find_server(hello.server), settings)

    async def _serve(self, server: ContractServer, lines: LineStream) -> None:
        client = id(lines)

        def on_read(message: JSONRPCMessage) -> None:
            if isinstance(message, JSONRPCRequest) and message.method not in LONG_LIVED:
                self._calls.add((client, message.id))
            elif isinstance(message, JSONRPCNotification) and message.method == CANCELLED:
                # The client no longer waits for the answer.
                self._calls.discard((client, (message.params or {}).get("requestId", "")))

        def on_written(message: JSONRPCMessage) -> None:
            if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
                self._calls.discard((client, message.id))
                self._notify()

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
        """Prepare a server; ignore errors, which the next call reports."""
        with suppress(QuinionError):
            await self.make_ready(server)

    @contextmanager
    def count_client(self) -> Iterator[None]:
        """Count a client within the block; an engine with clients is not idle."""
        self._clients += 1
        self._notify()
        try:
            yield
        finally:
            self._clients -= 1
            self._notify()

    def _check_settings(self, differing: list[str]) -> None:
        if differing:
            raise HomeInUse(
                f"{self._describe_process()} was started with other settings: "
                f"{', '.join(differing)}. Start with the same, close the clients that use it (or "
                "run quinion stop), or set QUINION_HOME to another folder."
            )

    def _describe_process(self) -> str:
        return f"Process {os.getpid()}, which uses {self.engine.settings.home},"

    def _notify(self) -> None:
        """Wake the tasks that wait for a change of state."""
        self._changed.set()
        self._changed = anyio.Event()


@asynccontextmanager
async def open_socket_server(
    engine: Engine, *, background: bool = False
) -> AsyncIterator[SocketServer]:
    """Serve other processes within the block; at its end, wait for their pending calls."""
    with _choose_path(engine.settings.home, is_first=engine.lock.is_held) as path, as_raised():
        async with (
            await anyio.create_unix_listener(path, mode=0o600) as listener,
            anyio.create_task_group() as group,
        ):
            server = SocketServer(engine, path, background=background)
            group.start_soon(listener.serve, server.handle)
            server.announce()
            try:
                yield server
            finally:
                server.shut_down()
                await server.drain()
                group.cancel_scope.cancel()


@contextmanager
def _choose_path(home: Path, *, is_first: bool) -> Iterator[Path]:
    """The socket path: beside the lock, or in a temporary folder if that path is too long, or that
    of another process, which shares the home."""
    path = home / SOCKET_NAME
    folder = None
    if not is_first or len(os.fsencode(path)) > MAX_PATH_BYTES:
        folder = tempfile.mkdtemp(prefix="quinion-")
        path = Path(folder) / SOCKET_NAME
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
