"""`quinion serve`: the HTTP servers."""

import json
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import typer
from mcp import Client

from quinion import __version__
from quinion.cli.client import call
from quinion.cli.files import find_documents
from quinion.cli.report import fail
from quinion.errors import InvalidInput, QuinionError
from quinion.pipeline.engine import Engine, open_engine
from quinion.servers import document_store
from quinion.servers.catalog import CATALOG, Entry, find_server
from quinion.servers.document_store.ingest import EXTENSIONS
from quinion.servers.document_store.records import REGISTRY
from quinion.servers.http import Endpoint, choose_host, serve
from quinion.settings import Settings
from quinion.store.lock import Holder

SAMPLE_REF = "26/00001/FUL"
TOKEN_PLACE = "<your MCP_API_KEY>"  # noqa: S105 - so that the token itself is never printed


def run(
    settings: Settings, names: list[str], host: str | None, port: int | None, samples: Path | None
) -> None:
    """Serve until stopped."""
    entries = [find_server(name) for name in names] or list(CATALOG.values())
    if port is not None and len(entries) != 1:
        raise InvalidInput(
            "--port needs the name of one server, e.g. quinion serve document-store."
        )
    anyio.run(_serve, settings, entries, host, port, samples)


async def _serve(
    settings: Settings,
    entries: list[Entry],
    host: str | None,
    port: int | None,
    samples: Path | None,
) -> None:
    async with AsyncExitStack() as stack:
        engines = await _open_engines(settings, entries, stack)
        where = choose_host(settings, host)
        endpoints = [
            Endpoint(
                entry.name,
                entry.load().build(engines[entry.name]),
                entry.load().word_refusal,
                where,
                entry.port(settings) if port is None else port,
            )
            for entry in entries
        ]

        async def on_ready(addresses: dict[str, str]) -> None:
            for engine in set(engines.values()):
                mine = {name: a for name, a in addresses.items() if engines[name] is engine}
                engine.lock.announce(Holder(os.getpid(), __version__, mine))
            _print_addresses(settings, addresses)
            try:
                for engine in set(engines.values()):
                    await engine.store()
                for endpoint in endpoints:
                    await endpoint.server.warm()
                if samples is not None:
                    await _load_samples(engines[document_store.NAME], samples)
            except QuinionError as error:
                fail(error)

        await serve(endpoints, settings, on_ready)


async def _open_engines(
    settings: Settings, entries: list[Entry], stack: AsyncExitStack
) -> dict[str, Engine]:
    """The engine of each server: one for all, but for those that keep a folder of their own."""
    by_home: dict[Path, Engine] = {}
    engines: dict[str, Engine] = {}
    for entry in entries:
        mine = entry.settings(settings)
        if mine.home not in by_home:
            by_home[mine.home] = await stack.enter_async_context(open_engine(mine))
        engines[entry.name] = by_home[mine.home]
    return engines


def _print_addresses(settings: Settings, addresses: dict[str, str]) -> None:
    echo = typer.echo
    for name, address in addresses.items():
        echo(f"{name:16} {address}/mcp   (SSE: {address}/sse, health: {address}/health)")
    echo(f"{'home':16} {settings.home}")
    echo("\nFor Claude Desktop (its claude_desktop_config.json):")
    echo(
        json.dumps(
            {"mcpServers": {name: _stdio_entry(settings, name) for name in addresses}}, indent=2
        )
    )
    echo("\nFor Cursor, VS Code, n8n and others that take an address:")
    echo(
        json.dumps(
            {"mcpServers": {n: _url_entry(settings, a) for n, a in addresses.items()}}, indent=2
        )
    )
    sys.stdout.flush()


def _stdio_entry(settings: Settings, name: str) -> dict[str, object]:
    command = Path(sys.executable).with_name("quinion")
    entry: dict[str, object] = {"command": str(command), "args": ["stdio", name]}
    env = {}
    if settings.home != Settings().home:
        env["QUINION_HOME"] = str(settings.home)
    if settings.api_key is not None:
        env["MCP_API_KEY"] = TOKEN_PLACE
    return {**entry, "env": env} if env else entry


def _url_entry(settings: Settings, address: str) -> dict[str, object]:
    entry: dict[str, object] = {"url": f"{address}/mcp"}
    if settings.api_key is not None:
        entry["headers"] = {"Authorization": f"Bearer {TOKEN_PLACE}"}
    return entry


async def _load_samples(engine: Engine, folder: Path) -> None:
    """Something to try at once; a home that has documents is left alone."""
    if await engine.get(REGISTRY):
        return
    async with Client(document_store.build(engine)) as client:
        for path in find_documents([folder], EXTENSIONS):
            answer = await call(
                client,
                "ingest_document",
                {"file_path": str(path), "application_ref": SAMPLE_REF},
            )
            typer.echo(f"sample {path.name}: {answer['status']}")
    typer.echo(f"The samples belong to application {SAMPLE_REF}. Ask, for example:")
    typer.echo('  quinion search "how many cycle parking spaces are there?"')
    sys.stdout.flush()
