"""`quinion serve`: run the HTTP servers."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from itertools import chain
from pathlib import Path

import anyio
import typer
from mcp import Client

from quinion.cli.documents.file_selection import find_documents
from quinion.cli.documents.ingest import describe_skip
from quinion.cli.report import fail
from quinion.cli.server_client import COMMAND, call
from quinion.concurrency import in_thread
from quinion.console import site as console_site
from quinion.console.session import Sessions
from quinion.console.site import LazyConsole
from quinion.daemon.client import stop_engine
from quinion.daemon.socket_server import SocketServer, open_socket_server
from quinion.engine import open_engine
from quinion.errors import InvalidInput, QuinionError
from quinion.ingest.applications.ingestion import EXTENSIONS
from quinion.servers import document_store, mistral_ocr
from quinion.servers.base import ContractServer
from quinion.servers.document_store.records import REGISTRY
from quinion.servers.http import LOOPBACK, Endpoint, Site, choose_host, serve
from quinion.servers.registry import CATALOG, Entry, find_server
from quinion.settings import Settings
from quinion.telemetry.logs import configure
from quinion.telemetry.metrics import Family
from quinion.telemetry.tracing import start_tracing

SAMPLE_REF = "26/00001/FUL"


def run(
    settings: Settings,
    names: list[str],
    host: str | None,
    port: int | None,
    samples: Path | None,
    *,
    console: bool = True,
    background: bool = False,
) -> None:
    """Serve until stopped. The console is served too, unless other servers are named.

    In the `background` the process also ends when it has been idle, as other engines do.
    """
    ocr = mistral_ocr.NAME in names if names else mistral_ocr.is_configured()
    console = console_site.NAME in names if names else console
    others = {mistral_ocr.NAME, console_site.NAME}
    entries = [find_server(name) for name in names or CATALOG if name not in others]
    if port is not None and len(entries) + ocr + (console and bool(names)) != 1:
        raise InvalidInput(
            "--port needs exactly one server. Example: quinion serve docvec --port 3004."
        )
    configure(settings.log_level, settings.log_format, log_requests=True)
    start_tracing(settings.otel_endpoint)
    anyio.run(_serve, settings, entries, ocr, console, background, host, port, samples)


async def _serve(
    settings: Settings,
    entries: list[Entry],
    ocr: bool,
    console: bool,
    background: bool,
    host: str | None,
    port: int | None,
    samples: Path | None,
) -> None:
    async with AsyncExitStack() as stack:
        opened = list(CATALOG.values()) if console else entries
        doors = await _open_doors(settings, opened, stack, background=background)
        where = choose_host(settings, host)
        sites, key = [], ""
        if console:
            sessions = Sessions(settings.home, _token(settings))
            key = "" if sessions.has_token else sessions.make_key()
            sites = [_make_console(doors, settings, sessions, where, port if not entries else None)]
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
                    mine |= {mistral_ocr.NAME, console_site.NAME}
                door.announce({name: a for name, a in addresses.items() if name in mine})
            _print_addresses(settings, addresses, key)
            try:
                for entry in entries:
                    door = doors[entry.name]
                    await door.make_ready(door.server(entry, entry.settings(settings)))
                if samples is not None:
                    await _load_samples(doors[document_store.NAME], settings, samples)
            except QuinionError as error:
                fail(error)
            if background:
                await _wait_for_shutdown(doors)

        await serve(endpoints, settings, on_ready, sites)


async def _wait_for_shutdown(doors: dict[str, SocketServer]) -> None:
    """Stop this process when all engines are to stop, on request or because they are idle."""
    for door in set(doors.values()):
        await door.wait_for_shutdown()
    os.kill(os.getpid(), signal.SIGTERM)


def _token(settings: Settings) -> str | None:
    return settings.api_key.get_secret_value() if settings.api_key else None


def _make_console(
    doors: dict[str, SocketServer],
    settings: Settings,
    sessions: Sessions,
    host: str,
    port: int | None,
) -> Site:
    """Make the console; without a token it is for this machine only, whatever the host."""

    def find(entry: Entry) -> Callable[[], ContractServer]:
        return lambda: doors[entry.name].server(entry, entry.settings(settings))

    servers = {entry.name: find(entry) for entry in CATALOG.values()}

    def measure() -> Iterator[Family]:
        for name, server in servers.items():
            yield from server().measure(doors[name].engine.count)
        yield from doors[document_store.NAME].engine.measure()

    is_private = sessions.has_token or host in {LOOPBACK, "::1", "localhost"}
    return Site(
        console_site.NAME,
        LazyConsole(settings, sessions, servers, measure, doors[document_store.NAME].count_client),
        host if is_private else LOOPBACK,
        settings.console_port if port is None else port,
        optional=port is None,
    )


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
    settings: Settings, entries: list[Entry], stack: AsyncExitStack, *, background: bool = False
) -> dict[str, SocketServer]:
    """Open one socket server per home; servers with the same home share it."""
    by_home: dict[Path, SocketServer] = {}
    doors: dict[str, SocketServer] = {}
    for entry in entries:
        mine = entry.settings(settings)
        if mine.home not in by_home:
            if not mine.database:
                # A background engine exits; its clients reconnect here with their next call.
                await in_thread(stop_engine, mine.home)
            engine = await stack.enter_async_context(open_engine(mine))
            by_home[mine.home] = await stack.enter_async_context(
                open_socket_server(engine, background=background)
            )
        doors[entry.name] = by_home[mine.home]
    return doors


def _print_addresses(settings: Settings, addresses: dict[str, str], key: str) -> None:
    if console := addresses.get(console_site.NAME):
        with_key = f"/?key={key}   (once; again: quinion open)" if key else ""
        typer.echo(f"{console_site.NAME:16} {console}{with_key}")
    for name, address in addresses.items():
        if name == console_site.NAME:
            continue
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
    server = door.server(CATALOG[document_store.NAME], settings)
    async with Client(server, client_info=COMMAND) as client:
        for path in find_documents([folder], EXTENSIONS):
            answer = await call(
                client,
                "ingest_document",
                {"file_path": str(path), "application_ref": SAMPLE_REF},
            )
            why = f", {describe_skip(answer)}" if answer["status"] == "skipped" else ""
            typer.echo(f"sample {path.name}: {answer['status']}{why}")
    typer.echo(f"The samples belong to application {SAMPLE_REF}. For example:")
    typer.echo('  quinion search "how many cycle parking spaces are there?"')
    sys.stdout.flush()
