"""The two that are compared, driven alike: a child process, asked one thing at a time.

Ours is the real server, `document-store-mcp`, asked by a real MCP client over stdio, so what is
timed is what an agent waits for. The plain stack is `plain.py`, which is asked in lines of JSON:
it is spared the protocol, and the ratios are the lower for it.
"""

import json
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client
from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client

from bench.processes import newest_child

LONGEST_ANSWER = 1 << 24
OUR_PACKAGES = ("onnxruntime", "chromadb", "pymupdf", "mcp")


@dataclass(frozen=True)
class Session(ABC):
    """A running process that is ready to be asked."""

    pid: int
    versions: dict[str, str]

    @abstractmethod
    async def ingest(self, file: Path) -> int:
        """Take a document in; how many chunks it gave."""

    @abstractmethod
    async def search(self, query: str) -> None:
        """Ask for the ten nearest chunks, and wait for them."""


@dataclass(frozen=True)
class OurSession(Session):
    client: Client

    async def ingest(self, file: Path) -> int:
        answer = await self._call("ingest_document", file_path=str(file), application_ref="bench")
        return int(answer["chunks_created"])

    async def search(self, query: str) -> None:
        await self._call("search_application_docs", query=query, max_results=10)

    async def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = (await self.client.call_tool(tool, arguments)).structured_content
        if answer is None or answer["status"] != "success":
            raise SystemExit(f"{tool} of {arguments} was answered with {answer}.")
        return dict(answer)


@dataclass(frozen=True)
class PlainSession(Session):
    process: Process
    answers: BufferedByteReceiveStream

    async def ingest(self, file: Path) -> int:
        return int((await self._call("ingest", str(file)))["chunks"])

    async def search(self, query: str) -> None:
        await self._call("search", query)

    async def _call(self, request: str, argument: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        await self.process.stdin.send(json.dumps({request: argument}).encode() + b"\n")
        return await read_line(self.answers)


async def read_line(stream: BufferedByteReceiveStream) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(await stream.receive_until(b"\n", LONGEST_ANSWER))
    return answer


@asynccontextmanager
async def run_ours(store: Path, log: Path) -> AsyncIterator[Session]:
    """Our server on a home, once it has answered `initialize` and `list_tools`."""
    home = {"QUINION_HOME": str(store), "CHROMA_PERSIST_DIR": str(find_our_chroma(store))}
    server = StdioServerParameters(
        command=str(Path(sys.executable).with_name("document-store-mcp")),
        env=get_default_environment() | home,
    )
    versions = {name: version(name) for name in ("quinion", *OUR_PACKAGES)}
    with log.open("a") as errors:
        async with Client(stdio_client(server, errlog=errors)) as client:
            await client.list_tools()
            yield OurSession(newest_child(), versions, client)


@asynccontextmanager
async def run_plain(python: Path, store: Path, log: Path) -> AsyncIterator[Session]:
    """The plain stack on a folder of Chroma's, once all is imported and loaded."""
    command = [str(python), str(Path(__file__).with_name("plain.py")), str(store)]
    with log.open("a") as errors:
        async with await anyio.open_process(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            answers = BufferedByteReceiveStream(process.stdout)
            try:
                versions = await read_line(answers)
            except anyio.IncompleteRead:
                raise SystemExit(explain_failure(log)) from None
            yield PlainSession(process.pid, versions, process, answers)
            await process.stdin.aclose()
            await process.wait()


def explain_failure(log: Path) -> str:
    return f"The plain stack does not start: run `make bench`, which sets it up.\n{log.read_text()}"


def find_our_chroma(store: Path) -> Path:
    """Where in a home our vectors are."""
    return store / "chroma"
