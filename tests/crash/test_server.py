"""SIGKILL of a real server during an ingest: the document is stored completely or not at all."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import anyio
import psutil
import pytest
from mcp import Client

from quinion.engine import open_engine
from quinion.servers import document_store
from quinion.servers.document_store.records import CHUNKS, REGISTRY
from quinion.settings import Settings

FILE = Path(__file__).parents[2] / "samples" / "Transport_Assessment.pdf"
FILE_CHUNKS = 5
KILLS = 20
ARGUMENTS = {"file_path": str(FILE), "application_ref": "26/00001/FUL"}
INITIALIZE = {
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
CALL = {
    "id": 2,
    "method": "tools/call",
    "params": {"name": "ingest_document", "arguments": ARGUMENTS},
}


async def look_and_ingest_again(home: Path) -> tuple[int, int, str]:
    """Return documents and chunks after the restart, and the answer to the same call."""
    async with open_engine(Settings(home=home)) as engine:
        documents = len(await engine.collections.get(REGISTRY))
        chunks = len(await engine.collections.get(CHUNKS))
        async with Client(document_store.build(engine)) as client:
            result = await client.call_tool("ingest_document", ARGUMENTS)
        assert result.structured_content is not None
        assert len(await engine.collections.get(REGISTRY)) == 1
        assert len(await engine.collections.get(CHUNKS)) == FILE_CHUNKS
        return documents, chunks, result.structured_content["status"]


@pytest.mark.timeout(600)
def test_a_server_killed_at_any_time_of_an_ingest_leaves_all_or_nothing(tmp_path: Path) -> None:
    begun = time.monotonic()
    ingest_and_kill(tmp_path / "answered", None)
    duration = time.monotonic() - begun
    assert anyio.run(look_and_ingest_again, tmp_path / "answered")[:2] == (1, FILE_CHUNKS)
    for part in range(KILLS):
        home = tmp_path / str(part)
        ingest_and_kill(home, duration * part / KILLS)
        documents, chunks, status = anyio.run(look_and_ingest_again, home)
        assert (documents, chunks) in {(0, 0), (1, FILE_CHUNKS)}
        assert status == ("already_ingested" if documents else "success")


def ingest_and_kill(home: Path, after_s: float | None) -> None:
    """Start an ingest on a real server; kill the server after a time, or (None) let it answer."""
    server = subprocess.Popen(
        [Path(sys.executable).with_name("document-store-mcp")],
        env={**os.environ, "QUINION_HOME": str(home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    for message in (INITIALIZE, {"method": "notifications/initialized"}, CALL):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()
    if after_s is None:
        while json.loads(server.stdout.readline()).get("id") != CALL["id"]:
            pass
    else:
        time.sleep(after_s)
    server.kill()
    server.communicate()
    kill_engines(home)


def kill_engines(home: Path) -> None:
    """Kill all engine processes of the home; the process that a client starts is only a relay."""
    quiet = 0
    while quiet < 3:
        found = [
            process
            for process in psutil.process_iter(["environ"])
            if (process.info["environ"] or {}).get("QUINION_HOME") == str(home)
        ]
        for process in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        quiet = 0 if found else quiet + 1
        time.sleep(0.05)
