"""Sixty-four HTTP clients that search, read, ingest and delete, with their measurements."""

import asyncio
import json
import random
import time
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2

from tests.documents import PROSE, text_pdf
from tests.doors.asking import HEADERS, META, parse
from tests.doors.house import DOCUMENT_STORE, DOCVEC, POLICY_KB, House

SEARCHERS, READERS, WRITERS = 40, 12, 12
PAUSE_S = 0.8
"""Seconds between two calls of a client that searches or reads, like a thinking user."""
BUSY_PAUSE_S = 0.5
LETTERS = 40
"""Letters per application."""
TIMEOUT_S = 120.0


@dataclass
class Tally:
    """Result of a run: seconds by kind of call, "busy" refusals, and all other failures."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    busy: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def calls(self) -> int:
        return sum(map(len, self.seconds.values()))

    def p99(self, kind: str) -> float:
        """Return the 99th percentile of the seconds of a kind of call."""
        ordered = sorted(self.seconds[kind])
        return ordered[min(int(len(ordered) * 0.99), len(ordered) - 1)]


class Crowd:
    """Clients of one set of servers, with a folder for their files. A thread pool generates their
    letters, so that this work is not timed as part of the searches."""

    def __init__(self, house: House, folder: Path, pool: Executor) -> None:
        self._house = house
        self._folder = folder
        self._pool = pool
        self.tally = Tally()

    async def run(self, lasting_s: float, *, writing: bool) -> Tally:
        """Run the clients; without writers to measure the speed of searches alone."""
        self.tally = Tally()
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=64)
        async with httpx2.AsyncClient(timeout=TIMEOUT_S, verify=False, limits=limits) as http:
            self._http = http
            with anyio.move_on_after(lasting_s):
                async with anyio.create_task_group() as group:
                    for number in range(SEARCHERS):
                        group.start_soon(self._search, random.Random(number))
                    for number in range(READERS if writing else 0):
                        group.start_soon(self._read, random.Random(number))
                    for number in range(WRITERS if writing else 0):
                        group.start_soon(self._store if number % 3 == 0 else self._index, number)
        return self.tally

    async def _search(self, dice: random.Random) -> None:
        await anyio.sleep(dice.random() * PAUSE_S)
        while True:
            words = " ".join(dice.sample(PROSE.split(), 5))
            server, tool = dice.choice(
                [
                    (DOCUMENT_STORE, "search_application_docs"),
                    (DOCVEC, "search"),
                    (POLICY_KB, "search_policy"),
                ]
            )
            await self._call("search", server, tool, {"query": words})
            await anyio.sleep(PAUSE_S * (0.5 + dice.random()))

    async def _read(self, dice: random.Random) -> None:
        while True:
            await self._call(
                "read", DOCUMENT_STORE, "list_ingested_documents", {"application_ref": "LOAD/0/0"}
            )
            await self._call("read", DOCVEC, "get_index_stats", {})
            await self._call("read", POLICY_KB, "list_policy_documents", {})
            await anyio.sleep(PAUSE_S * (0.5 + dice.random()))

    async def _index(self, number: int) -> None:
        """Write notes, index them and delete them again."""
        for count in range(10**9):
            file = self._folder / f"{number} {count % 5}.md"
            file.write_text(f"# Note {count} of client {number}\n\n{PROSE * 3}\n")
            await self._call("write", DOCVEC, "index_file", {"file_path": str(file)})
            await self._call("delete", DOCVEC, "delete_file", {"source_file": str(file)})

    async def _store(self, number: int) -> None:
        """Ingest letters, each one new."""
        for count in range(10**9):
            file = self._folder / f"{number} {count % 5}.pdf"
            text = f"Letter {count} of client {number} at {time.time()}. {PROSE}"
            await asyncio.wrap_future(self._pool.submit(text_pdf, file, text))
            arguments = {
                "file_path": str(file),
                "application_ref": f"LOAD/{number}/{count // LETTERS}",
            }
            await self._call("write", DOCUMENT_STORE, "ingest_document", arguments)

    async def _call(self, kind: str, server: str, tool: str, arguments: dict[str, Any]) -> None:
        params = {"name": tool, "arguments": arguments, "_meta": META}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {**HEADERS, "Mcp-Method": "tools/call", "Mcp-Name": tool}
        begun = time.perf_counter()
        try:
            answer = await self._http.post(
                f"{self._house[server].address}/mcp", headers=headers, content=json.dumps(body)
            )
        except httpx2.HTTPError as error:
            self.tally.failures.append(f"{tool}: {error!r}")
            return
        seconds = time.perf_counter() - begun
        if answer.status_code == httpx2.codes.SERVICE_UNAVAILABLE:
            verdict = "busy"
        else:
            verdict = _judge(parse(answer).get("result", {}).get("structuredContent", {}))
        if verdict == "busy":
            self.tally.busy += 1
            await anyio.sleep(BUSY_PAUSE_S)
        elif verdict == "well":
            self.tally.seconds.setdefault(kind, []).append(seconds)
        else:
            self.tally.failures.append(f"{tool}: {answer.status_code} {answer.text[-300:]}")


def _judge(answer: Mapping[str, Any]) -> str:
    if "busy" in (answer.get("error_type"), str(answer.get("error_code")).lower()):
        return "busy"
    is_well = answer.get("success", answer.get("status") in {"success", "already_ingested"})
    return "well" if is_well else "failed"
