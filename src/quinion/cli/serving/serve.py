"""`quinion serve`: run the HTTP servers."""

import sys
from contextlib import AsyncExitStack
from itertools import chain
from pathlib import Path

import anyio
import typer
from mcp import Client

from quinion.cli.documents.file_selection import find_documents
from quinion.cli.report import fail
from quinion.cli.server_client import call
from quinion.concurrency import in_thread
from quinion.daemon.client import stop_engine
from quinion.daemon.socket_server import SocketServer, open_socket_server
from quinion.engine import open_engine
from quinion.errors import InvalidInput, QuinionError
from quinion.ingest.applications import EXTENSIONS
from quinion.servers import document_store, mistral_ocr
from quinion.servers.document_store.records import REGISTRY
from quinion.servers.http import Endpoint, choose_host, serve
from quinion.servers.registry import CATALOG, Entry, find_server
from quinion.settings import Settings
from quinion.telemetry.logs import configure
from quinion.telemetry.tracing import start_tracing

SAMPLE_REF = "26/00001/FUL"


def run(
    settings: Settings, names: list[str], host: str | None, port: int | None, samples: Path | None
) -> None:
    """Serve until stopped."""
    ocr = mistral_ocr.NAME in names if names else mistral_ocr.is_configured()
    ours = [name for name in names or CATALOG if name != mistral_ocr.NAME]
    entries = [find_server(name) for name in ours]
    if port is not None and len(entries) + ocr != 1:
        raise InvalidInput(
            "--port needs exactly one server. Example: quinion serve docvec --port 3004."
        )
    configure(settings.log_level, settings.log_format, log_requests=True)
    start_tracing(settings.otel_endpoint)
    anyio.run(_serve, settings, entries, ocr, host, port, samples)


async def _serve(
    settings: Settings,
    entries: list[Entry],
    ocr: bool,
    host: str | None,
    port: int | None,
    samples: Path | None,
) -> None:
    async with AsyncExitStack() as stack:
        doors = await _open_doors(settings, entries, stack)
        where = choose_host(settings, host)
        endpoints = [_make_endpoint(doors[one.name], one, settings, where, port) for one in entries]
        if ocr:
            server, calls = mistral_ocr.build()
            endpoints.append(
                Endpoint(
                    mistral_ocr.NAME,
                    server,
                    mistral_ocr.word_refusal,
                    where,
                    settings.mistral_ocr_port if port is None else port,
                    calls.collect,
                )
            )

        async def on_ready(addresses: dict[str, str]) -> None:
            for door in set(doors.values()):
                mine = {name for name in doors if doors[name] is door}
                if door.engine.settings.home == settings.home:
                    mine.add(mistral_ocr.NAME)
                door.announce({name: a for name, a in addresses.items() if name in mine})
            _print_addresses(settings, addresses)
            try:
                for entry in entries:
                    door = doors[entry.name]
                    await door.make_ready(door.server(entry, entry.settings(settings)))
                if samples is not None:
                    await _load_samples(doors[document_store.NAME], settings, samples)
            except QuinionError as error:
                fail(error)

        await serve(endpoints, settings, on_ready)


def _make_endpoint(
    door: SocketServer, entry: Entry, settings: Settings, host: str, port: int | None
) -> Endpoint:
    server = door.server(entry, entry.settings(settings))
    return Endpoint(
        entry.name,
        server,
        entry.load().word_refusal,
        host,
        entry.port(settings) if port is None else port,
        lambda: chain(server.measure(door.engine.count), door.engine.measure()),
    )


async def _open_doors(
    settings: Settings, entries: list[Entry], stack: AsyncExitStack
) -> dict[str, SocketServer]:
    """Open one socket server per home; servers with the same home share it."""
    by_home: dict[Path, SocketServer] = {}
    doors: dict[str, SocketServer] = {}
    for entry in entries:
        mine = entry.settings(settings)
        if mine.home not in by_home:
            # A background engine exits; its clients reconnect here with their next call.
            await in_thread(stop_engine, mine.home)
            engine = await stack.enter_async_context(open_engine(mine))
            by_home[mine.home] = await stack.enter_async_context(open_socket_server(engine))
        doors[entry.name] = by_home[mine.home]
    return doors


def _print_addresses(settings: Settings, addresses: dict[str, str]) -> None:
    for name, address in addresses.items():
        typer.echo(f"{name:16} {address}/mcp   (SSE: {address}/sse, health: {address}/health)")
    typer.echo(f"{'home':16} {settings.home}")
    typer.echo(
        "\nConnect a client: quinion connect claude-desktop. By URL: quinion connect cursor "
        "--http, or vscode, claude-code, n8n."
    )
    sys.stdout.flush()


async def _load_samples(door: SocketServer, settings: Settings, folder: Path) -> None:
    """Ingest the samples, unless the home has documents."""
    if await door.engine.collections.get(REGISTRY):
        return
    async with Client(door.server(CATALOG[document_store.NAME], settings)) as client:
        for path in find_documents([folder], EXTENSIONS):
            answer = await call(
                client,
                "ingest_document",
                {"file_path": str(path), "application_ref": SAMPLE_REF},
            )
            typer.echo(f"sample {path.name}: {answer['status']}")
    typer.echo(f"The samples belong to application {SAMPLE_REF}. For example:")
    typer.echo('  quinion search "how many cycle parking spaces are there?"')
    sys.stdout.flush()
