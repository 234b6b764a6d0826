"""kill -9 during an ingest: afterwards the document is there whole, or not at all."""

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

from quinion.pipeline.engine import open_engine
from quinion.servers import document_store
from quinion.servers.document_store.records import CHUNKS, REGISTRY
from quinion.settings import Settings
from tests.crash.dying import die_at

SAMPLES = Path(__file__).parents[2] / "samples"
FILE = SAMPLES / "Transport_Assessment.pdf"
FILE_CHUNKS = 5
# An intent, the chunks, the registry's line, the striking out: before and after each.
MOMENTS = 2 * (1 + 1 + 1 + 1)
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
    """Documents and chunks after the restart, and what ingesting again answers."""
    async with open_engine(Settings(home=home)) as engine:
        documents = len(await engine.get(REGISTRY))
        chunks = len(await engine.get(CHUNKS))
        async with Client(document_store.build(engine)) as client:
            result = await client.call_tool("ingest_document", ARGUMENTS)
        assert result.structured_content is not None
        assert len(await engine.get(REGISTRY)) == 1
        assert len(await engine.get(CHUNKS)) == FILE_CHUNKS
        return documents, chunks, result.structured_content["status"]


@pytest.mark.parametrize("moment", range(MOMENTS))
def test_a_kill_while_writing_leaves_all_or_nothing(moment: int, tmp_path: Path) -> None:
    assert die_at("ingest_document", tmp_path, FILE, moment).returncode == -9
    outcome = anyio.run(look_and_ingest_again, tmp_path)
    # Only the kill after the very last step finds a document that is whole.
    whole = (1, FILE_CHUNKS, "already_ingested")
    assert outcome == (whole if moment == MOMENTS - 1 else (0, 0, "success"))


def test_the_moments_above_are_all_that_there_are(tmp_path: Path) -> None:
    finished = die_at("ingest_document", tmp_path, FILE, MOMENTS)
    assert finished.returncode == 0
    assert "'status': 'success'" in finished.stdout


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_kill_at_twenty_times_of_a_whole_ingest_leaves_all_or_nothing(tmp_path: Path) -> None:
    begun = time.monotonic()
    ingest_and_kill(tmp_path / "whole", None)
    duration = time.monotonic() - begun
    for part in range(20):
        home = tmp_path / str(part)
        ingest_and_kill(home, duration * part / 20)
        documents, chunks, status = anyio.run(look_and_ingest_again, home)
        assert (documents, chunks) in {(0, 0), (1, FILE_CHUNKS)}
        assert status == ("already_ingested" if documents else "success")


def ingest_and_kill(home: Path, after_s: float | None) -> None:
    """Ask a real server to ingest; kill it after a time, or (None) let it answer."""
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
    """Kill all that works on the home: what a client starts is a relay, and no part of them."""
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
