"""Server processes as users start them, each with a separate home."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx2
import pytest
from anyio.from_thread import start_blocking_portal
from mcp import StdioServerParameters
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from quinion.cli import server_client
from quinion.daemon.client import LOG_NAME
from quinion.settings import Settings
from quinion.store.lock import is_held
from tests.contract.session import Ask, Session, open_session

SCRIPTS = Path(sys.executable).parent
STOPPING_S = 30.0

Variables = Mapping[str, str | None]
"""Environment variables; None removes a default of the test servers."""

MIRRORED: Variables = {"QUINION_MIRROR": "on"}
"""The store is mirrored to Chroma, whatever the home says."""


@dataclass(frozen=True)
class Home:
    """A folder for QUINION_HOME, with space beside it for a test's files and logs.

    The mirror of its store is a process that takes some seconds, so most tests do without.
    """

    path: Path
    files: Path
    mirrored: bool = True
    database: str | None = None

    @property
    def chroma(self) -> Path:
        return self.path / "chroma"

    def break_store(self) -> None:
        """Overwrite the database of the store while it is in use."""
        self.need_files()
        for name in ("store.db", "store.db-wal", "store.db-shm"):
            path = self.path / "store" / name
            with path.open("r+b") as file:
                file.write(b"\0" * path.stat().st_size)

    def need_files(self) -> None:
        """Skip a test of the embedded store's files, or of its mirror."""
        if self.database:
            pytest.skip("the store of this run is in PostgreSQL")

    def import_chroma(self) -> None:
        """Import what another program has written into the Chroma of this home."""
        command = [str(SCRIPTS / "quinion"), "import", "chroma", str(self.chroma)]
        done = subprocess.run(
            command, env=self.environment({}), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    @property
    def engine_log(self) -> str:
        """Return the log of the engines in the background."""
        log = self.path / LOG_NAME
        return log.read_text() if log.exists() else ""

    def environment(self, variables: Variables) -> dict[str, str]:
        """Return the environment of a server: only PATH comes from the caller's environment.

        The vector store is set explicitly, because a container's /data/chroma is the default.
        """
        given: Variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.files),
            "QUINION_HOME": str(self.path),
            "QUINION_IDLE_SECONDS": "0",
            "CHROMA_PERSIST_DIR": str(self.chroma),
            "QUINION_MIRROR": "on" if self.mirrored else "off",
            "QUINION_DATABASE_URL": self.database,
            **variables,
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class HttpServer:
    """A running HTTP server."""

    process: "subprocess.Popen[str]"
    address: str
    home: Home
    log_path: Path
    printed: str
    variables: Variables

    @property
    def log(self) -> str:
        """Return its stderr so far."""
        return self.log_path.read_text()

    def request(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, content: str = ""
    ) -> httpx2.Response:
        """Send a plain HTTP request."""
        with plain_client() as client:
            return client.request(
                method, self.address + path, headers=headers, content=content or None
            )

    @contextmanager
    def session(
        self, transport: str = "http", token: str | None = None, ask: Ask | None = None
    ) -> Iterator[Session]:
        """Open a client session over `http`, `http-legacy` (before protocol 2026) or `sse`."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if transport == "sse":
            try:
                with open_session(sse_client(f"{self.address}/sse", headers), ask=ask) as session:
                    yield session
            except* anyio.BrokenResourceError:
                pass  # of the SDK's client, when a message comes while it is being closed
            return
        mode = "legacy" if transport == "http-legacy" else "auto"
        with open_session(_streamable(f"{self.address}/mcp", headers), mode, ask) as session:
            yield session

    def stop(self) -> int:
        """Terminate it and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOPPING_S)


def plain_client() -> httpx2.Client:
    """HTTP client without certificates, because loading them takes longer than a request."""
    return httpx2.Client(timeout=STOPPING_S, verify=False)


@asynccontextmanager
async def _streamable(url: str, headers: Mapping[str, str]) -> AsyncIterator[TransportStreams]:
    # An answer may take longer than this library's default timeout of five seconds.
    timeout = httpx2.Timeout(STOPPING_S, read=300)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, verify=False) as http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams


@contextmanager
def run_http(
    home: Home,
    variables: Variables | None = None,
    command: Sequence[str] = ("document-store-mcp", "--http", "--port", "0"),
) -> Iterator[HttpServer]:
    """Start an HTTP server, and stop it on exit."""
    log_path = home.files / "server.log"
    with (
        log_path.open("a") as log,
        subprocess.Popen(
            [str(SCRIPTS / command[0]), *command[1:]],
            env=home.environment(variables or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            printed = process.stdout.readline()
            found = re.search(r"(http://\S+)/mcp", printed)
            assert found, f"no address in {printed!r}; {log_path.read_text()}"
            yield HttpServer(process, found[1], home, log_path, printed, variables or {})
        finally:
            process.terminate()
            try:
                status = process.wait(STOPPING_S)
            finally:
                process.kill()
    written = log_path.read_text()
    assert status == 0, written
    # No test may cause an unexpected error.
    assert "Traceback" not in written, written


@contextmanager
def run_stdio(
    home: Home,
    variables: Variables | None = None,
    command: Sequence[str] = ("document-store-mcp",),
    ask: Ask | None = None,
    *,
    mode: str = "auto",
    folder: Path | None = None,
    alone: bool = True,
) -> Iterator[Session]:
    """Start a server on stdio as a desktop client does, and stop it by closing its stdin.

    The engine behind it exits with its last client; with `alone`, this waits for that.
    """
    parameters = StdioServerParameters(
        command=str(SCRIPTS / command[0]),
        args=list(command[1:]),
        env=home.environment(variables or {}),
        cwd=folder,
    )
    with (home.files / "server.log").open("a") as log:
        with open_session(stdio_client(parameters, errlog=log), mode, ask) as session:
            yield session
    if alone:
        wait_until_free(home)
    written = (home.files / "server.log").read_text() + home.engine_log
    assert "Traceback" not in written, written


@contextmanager
def run_command(home: Home, name: str, variables: Variables | None = None) -> Iterator[Session]:
    """Open a session as a command of quinion does: with the process that holds the home, or none.

    Only such a session has the unlisted tools. The settings must be those of that process.
    """
    settings = Settings.from_environment(home.environment(variables or {}))
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(server_client.connect(settings, name)) as client,
    ):
        yield Session(portal, client, command=True)


def wait_until_free(home: Home) -> None:
    """Wait until no engine holds the home; an HTTP server holds it longer."""
    deadline = time.monotonic() + STOPPING_S
    while is_held(home.path) and not read_note(home)["addresses"]:
        assert time.monotonic() < deadline, "the engine does not end"
        time.sleep(0.02)


def run_to_end(
    home: Home, variables: Variables, *arguments: str, program: str = "document-store-mcp"
) -> "subprocess.CompletedProcess[str]":
    """Start a server that is expected to fail, and wait for its exit."""
    return subprocess.run(
        [str(SCRIPTS / program), *arguments],
        env=home.environment(variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=STOPPING_S,
        check=False,
    )


def free_port() -> int:
    """Return an unused port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def read_note(home: Home) -> dict[str, object]:
    """Read the note of the process that holds the home."""
    note: dict[str, object] = json.loads((home.path / "engine.lock").read_text())
    return note
