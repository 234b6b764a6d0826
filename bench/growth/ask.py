"""Search latency, from request line to answer line.

A minimal MCP client writes lines to the pipes of `docvec-mcp`, so the figures contain no work of a
client library. The plain stack reads lines too (`sides.py`).
"""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.client.stdio import get_default_environment
from mcp.types import LATEST_PROTOCOL_VERSION

from bench.growth.found import Asked, Find
from bench.growth.made import Filter
from bench.processes import measure_memory_mb
from bench.sides import PeerSession, find_engine, our_variables, read_line, stop_engine

RESULTS = 10


@dataclass
class MinimalClient:
    """MCP client without validation or features."""

    process: Process
    answers: BufferedByteReceiveStream
    engine: int = 0
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    async def find(self, question: str, filter_: Filter) -> list[str]:
        arguments = {"query": question, "n_results": RESULTS}
        if filter_.where is None:
            answer = await self.call("search", arguments)
        else:
            answer = await self.call("search_with_filters", arguments | {"filters": filter_.where})
        return [result["chunk_id"] for result in answer["data"]["results"]]

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        result = await self.request("tools/call", {"name": tool, "arguments": arguments})
        answer: dict[str, Any] = result["structuredContent"]
        if not answer["success"]:
            raise SystemExit(f"{tool} with {arguments} failed: {answer}")
        return answer

    async def request(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        await self._send({"id": number, "method": method, "params": parameters})
        while (message := await read_line(self.answers)).get("id") != number:
            pass  # progress
        if "error" in message:
            raise SystemExit(f"{method} failed: {message}")
        return dict(message["result"])

    async def open(self) -> None:
        about = {"name": "bench", "version": "0"}
        parameters = {"protocolVersion": LATEST_PROTOCOL_VERSION, "capabilities": {}}
        await self.request("initialize", parameters | {"clientInfo": about})
        await self._send({"method": "notifications/initialized"})

    async def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.send(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")

    def memory_mb(self) -> float:
        """Return the memory of the relay, the engine and its workers."""
        return measure_memory_mb(self.process.pid, self.engine)


@asynccontextmanager
async def run_docvec(home: Path, log: Path) -> AsyncIterator[MinimalClient]:
    """Start DocVec; ready once it has answered `initialize`. Stops the engine on exit."""
    command = [str(Path(sys.executable).with_name("docvec-mcp"))]
    variables = get_default_environment() | dict(our_variables(home))
    with log.open("a") as errors:
        try:
            async with await anyio.open_process(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=variables
            ) as process:
                assert process.stdin is not None
                assert process.stdout is not None
                client = MinimalClient(process, BufferedByteReceiveStream(process.stdout))
                await client.open()
                client.engine = find_engine(home)
                yield client
                await process.stdin.aclose()
                await process.wait()
        finally:
            stop_engine(home)


def find_by(peer: PeerSession) -> Find:
    async def find(question: str, filter_: Filter) -> list[str]:
        answer = await peer.call("find", {"query": question, "where": filter_.where})
        return list(answer["ids"])

    return find


async def ask(
    sides: Mapping[str, Find], filters: Mapping[str, Sequence[Filter]], questions: Sequence[str]
) -> list[Asked]:
    """Ask each question once; sides and filters alternate."""
    asked: list[Asked] = []
    turns: dict[str, int] = defaultdict(int)
    for number, question in enumerate(questions):
        order = list(sides.items())
        for who, find in order if number % 2 else order[::-1]:
            filter_ = filters[who][turns[who] % len(filters[who])]
            turns[who] += 1
            began = perf_counter()
            ids = await find(question, filter_)
            asked.append(Asked(who, question, filter_, ids, 1000 * (perf_counter() - began)))
    return asked
