"""Sessions with quinion and the peers: child processes that handle one request at a time.

quinion runs as desktop clients run it: a stdio command that relays to the engine, which it starts
in the background. A real MCP client sends the requests, so the measured time is what an agent
waits for. A peer (`plain.py`, `llamaindex.py`) reads lines of JSON instead. It has no protocol
overhead, which lowers the ratios.
"""

import json
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import anyio
import psutil  # type: ignore[import-untyped,unused-ignore]
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client
from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client

from bench.processes import newest_child
from quinion.cli.documents.ingest import AT_ONCE
from quinion.daemon.client import stop_engine as stop_background_engine
from quinion.store.lock import read_holder

ROOT = Path(__file__).parents[1]
LONGEST_ANSWER = 1 << 24
OUR_PACKAGES = ("quinion", "onnxruntime", "ctranslate2", "chromadb", "pymupdf", "mcp")
"""Packages whose versions are reported, if installed."""
LEAVING_S = 60.0


@dataclass(frozen=True)
class Session(ABC):
    """A running side that accepts requests."""

    pids: Sequence[int]
    """Root processes; their descendants are counted too."""
    versions: dict[str, str]

    @abstractmethod
    async def ingest(self, files: Sequence[Path]) -> int:
        """Ingest documents and return the number of chunks."""

    @abstractmethod
    async def search(self, query: str) -> None:
        """Search for the ten nearest chunks."""


@dataclass(frozen=True)
class OurSession(Session):
    client: Client

    async def ingest(self, files: Sequence[Path]) -> int:
        """Ingest several documents concurrently, as `quinion ingest` does."""
        pending, counts = iter(files), list[int]()

        async def take() -> None:
            for file in pending:
                answer = await self._call(
                    "ingest_document", file_path=str(file), application_ref="bench"
                )
                counts.append(int(answer.get("chunks_created", 0)))

        async with anyio.create_task_group() as group:
            for _ in range(AT_ONCE):
                group.start_soon(take)
        return sum(counts)

    async def search(self, query: str) -> None:
        await self._call("search_application_docs", query=query, max_results=10)

    async def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = (await self.client.call_tool(tool, arguments)).structured_content
        if answer is None or answer["status"] not in {"success", "already_ingested"}:
            raise SystemExit(f"{tool} of {arguments} was answered with {answer}.")
        return dict(answer)


@dataclass(frozen=True)
class PeerSession(Session):
    process: Process
    answers: BufferedByteReceiveStream

    async def ingest(self, files: Sequence[Path]) -> int:
        return sum([int((await self.call("ingest", str(file)))["chunks"]) for file in files])

    async def search(self, query: str) -> None:
        await self.call("search", query)

    async def call(self, request: str, argument: object) -> dict[str, Any]:
        """Call a method of the peer and return its answer."""
        assert self.process.stdin is not None
        await self.process.stdin.send(json.dumps({request: argument}).encode() + b"\n")
        return await read_line(self.answers)


async def read_line(stream: BufferedByteReceiveStream) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(await stream.receive_until(b"\n", LONGEST_ANSWER))
    return answer


@asynccontextmanager
async def run_ours(home: Path, log: Path) -> AsyncIterator[OurSession]:
    """Start the Document Store; ready once it has answered `initialize` and `list_tools`."""
    async with run_server("document-store-mcp", home, log) as (client, pids):
        yield OurSession(pids, dict(our_versions()), client)


@asynccontextmanager
async def run_server(
    command: str, home: Path, log: Path
) -> AsyncIterator[tuple[Client, Sequence[int]]]:
    """Start a quinion server; yields the client and both pids, and stops the engine on exit."""
    server = StdioServerParameters(
        command=str(Path(sys.executable).with_name(command)),
        env=get_default_environment() | dict(our_variables(home)),
    )
    with log.open("a") as errors:
        try:
            async with Client(stdio_client(server, errlog=errors)) as client:
                await client.list_tools()
                engine = find_engine(home)
                yield client, [newest_child(besides=engine), engine]
        finally:
            stop_engine(home)


def our_variables(home: Path) -> Iterator[tuple[str, str]]:
    """Environment variables of quinion's processes; keeps any QUINION_* setting of the caller."""
    yield from ((name, text) for name, text in os.environ.items() if name.startswith("QUINION_"))
    yield "QUINION_HOME", str(home)
    yield "CHROMA_PERSIST_DIR", str(find_our_chroma(home))


def our_versions() -> Iterator[tuple[str, str]]:
    for name in OUR_PACKAGES:
        with suppress(PackageNotFoundError):
            yield name, version(name)


def find_engine(home: Path) -> int:
    """Return the pid that holds the lock of the home."""
    holder = read_holder(home)
    if holder is None:
        raise SystemExit(f"No process holds the lock of {home}, although its server has answered.")
    return holder.pid


def stop_engine(home: Path) -> None:
    """Stop the engine as `quinion stop` does, and wait until the process has exited."""
    if holder := read_holder(home):
        with suppress(psutil.NoSuchProcess):
            engine = psutil.Process(holder.pid)
            stop_background_engine(home)
            engine.wait(LEAVING_S)


@asynccontextmanager
async def run_peer(python: Path, module: str, store: Path, log: Path) -> AsyncIterator[PeerSession]:
    """Start a module that speaks the protocol of `peer.py`; ready once everything is loaded."""
    command = [str(python), "-m", module, str(store)]
    with log.open("a") as errors:
        async with await anyio.open_process(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            answers = BufferedByteReceiveStream(process.stdout)
            try:
                versions = await read_line(answers)
            except anyio.IncompleteRead:
                raise SystemExit(explain_failure(module, log)) from None
            yield PeerSession([process.pid], versions, process, answers)
            await process.stdin.aclose()
            await process.wait()


def explain_failure(module: str, log: Path) -> str:
    return f"{module} does not start: run `make bench`, which sets it up.\n{log.read_text()}"


def find_our_chroma(home: Path) -> Path:
    """Return the Chroma folder of a home."""
    return home / "chroma"
