"""The same engine on a Chroma server of its own (`CHROMA_URL`), as on a small cluster."""

import signal
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import chromadb
import psutil
import pytest
from mcp import Client

from quinion.errors import StoreUnavailable
from quinion.pipeline.engine import open_engine
from quinion.servers import document_store
from quinion.servers.document_store.records import CHUNKS, REGISTRY
from quinion.settings import Settings
from quinion.store import chroma
from tests.chroma_server import ChromaServer, chroma_server
from tests.contract.process import free_port

SAMPLE = Path(__file__).parents[3] / "samples" / "Transport_Assessment.pdf"
ARGUMENTS = {"file_path": str(SAMPLE), "application_ref": "26/00001/FUL"}


async def ingest_and_lose_the_server(home: Path, folder: Path, port: int) -> None:
    settings = Settings(home=home, chroma_url=f"http://127.0.0.1:{port}")
    async with open_engine(settings) as engine, Client(document_store.build(engine)) as client:
        with chroma_server(folder, port):
            result = await client.call_tool("ingest_document", ARGUMENTS)
            assert result.structured_content is not None
            assert result.structured_content["status"] == "success"
            assert len(await engine.search(CHUNKS, "cycle parking", 3)) == 3
        # What is there can be read from the ledger; nothing can be added.
        assert len(await engine.search(CHUNKS, "cycle parking", 3)) == 3
        answer = await client.call_tool("ingest_document", {**ARGUMENTS, "application_ref": "B"})
        assert answer.structured_content is not None
        assert answer.structured_content["error_type"] == "store_unavailable"
        assert str(port) in answer.structured_content["message"]
        with chroma_server(folder, port):
            assert len(await engine.get(REGISTRY)) == 1
            result = await client.call_tool("ingest_document", ARGUMENTS)
            assert result.structured_content is not None
            assert result.structured_content["status"] == "already_ingested"
    assert not (home / "chroma").exists()


def test_documents_are_kept_by_the_server_and_in_its_absence_nothing_can_be_added(
    tmp_path: Path,
) -> None:
    anyio.run(ingest_and_lose_the_server, tmp_path / "home", tmp_path / "chroma", free_port())


async def open_without_server(home: Path, port: int) -> None:
    settings = Settings(home=home, chroma_url=f"http://127.0.0.1:{port}")
    async with open_engine(settings) as engine:
        with pytest.raises(StoreUnavailable):
            await engine.get(REGISTRY)


def test_a_server_that_is_down_at_the_start_does_not_keep_us_from_starting(tmp_path: Path) -> None:
    anyio.run(open_without_server, tmp_path, free_port())


async def open_with_paused_server(home: Path, server: ChromaServer) -> None:
    server.process.send_signal(signal.SIGSTOP)
    async with open_engine(Settings(home=home, chroma_url=server.url)) as engine:
        with pytest.raises(StoreUnavailable):
            await engine.get(REGISTRY)
        server.process.send_signal(signal.SIGCONT)
        assert await engine.get(REGISTRY) == []


def test_a_server_that_is_paused_at_the_start_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chroma, "SERVER_TIMEOUT_S", 2.0)
    with chroma_server(tmp_path / "chroma") as server:
        anyio.run(open_with_paused_server, tmp_path / "home", server)


async def open_with_server_that_pauses(home: Path, server: ChromaServer) -> None:
    reach = chromadb.HttpClient

    def pause_and_reach(*address: Any, **options: Any) -> Any:
        server.process.send_signal(signal.SIGSTOP)
        return reach(*address, **options)

    async with open_engine(Settings(home=home, chroma_url=server.url)) as engine:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(chromadb, "HttpClient", pause_and_reach)
            with pytest.raises(StoreUnavailable, match="timed out"):
                await engine.get(REGISTRY)
        server.process.send_signal(signal.SIGCONT)
        assert await engine.get(REGISTRY) == []


def test_a_server_that_is_paused_while_it_is_reached_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chroma, "SERVER_TIMEOUT_S", 2.0)
    with chroma_server(tmp_path / "chroma") as server:
        anyio.run(open_with_server_that_pauses, tmp_path / "home", server)
        # Who was left waiting has been answered by now, and has hung up.
        for thread in (one for one in threading.enumerate() if one.name == "chroma"):
            thread.join(10)
        port = urlsplit(server.url).port
        connections = psutil.Process().net_connections()
        assert not [one for one in connections if one.raddr and one.raddr.port == port]


async def leave_paused_server(home: Path, server: ChromaServer) -> float:
    """How long it takes to close a home whose server does not answer any more."""
    async with open_engine(Settings(home=home, chroma_url=server.url)) as engine:
        async with Client(document_store.build(engine)) as client:
            await client.call_tool("ingest_document", ARGUMENTS)
        server.process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
    return time.monotonic() - began


def test_a_server_that_is_paused_in_the_end_is_not_waited_for(tmp_path: Path) -> None:
    with chroma_server(tmp_path / "chroma") as server:
        took_s = anyio.run(leave_paused_server, tmp_path / "home", server)
    assert took_s < chroma.SERVER_TIMEOUT_S / 2
