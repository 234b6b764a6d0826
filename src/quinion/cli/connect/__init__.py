"""`quinion connect`: add our servers to the configuration of an MCP client."""

import json
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from shutil import which
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from quinion.cli.connect.clients import (
    CLIENTS,
    TOKEN,
    Client,
    add_servers,
    find_client,
    is_ours,
    read_servers,
    remove_servers,
)
from quinion.cli.connect.configfile import Config, back_up, change_config, read_config
from quinion.cli.connect.entries import (
    HttpTransport,
    StdioTransport,
    Transport,
    choose_servers,
    find_http_transports,
    list_servers,
    make_stdio_transport,
)
from quinion.errors import InvalidInput, QuinionError
from quinion.settings import Settings

UV_CACHE = "archive-v0"
"""Cache folder of `uv`; `uvx` installs into it for one run."""
PROGRAM_TIMEOUT_S = 60.0
"""Timeout of a client's own program when it changes the configuration."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a change; `commands` are those that the user has to run."""

    client: str
    file: str | None
    changed: bool
    servers: list[str]
    backup: str | None = None
    commands: list[str] = field(default_factory=list)
    configuration: dict[str, Any] = field(default_factory=dict)


def run(
    settings: Settings,
    name: str | None,
    *,
    servers: list[str],
    http: bool,
    print_only: bool,
    remove: bool,
    project: Path | None,
    as_json: bool,
) -> int:
    """Add or remove our entries in a client's configuration, or list the clients."""
    if name is None:
        if servers or http or print_only or remove or project:
            raise InvalidInput(f"Name a client first, one of: {', '.join(CLIENTS)}.")
        return _list_clients(as_json=as_json)
    client = find_client(name)
    chosen = choose_servers(servers)
    if remove:
        if http or print_only:
            raise InvalidInput("--remove can be combined with --server and --project only.")
        done = _remove(client, servers or list_servers(), project)
    else:
        transports = _find_transports(settings, client, chosen, servers, http)
        done = _connect(client, transports, project, print_only=print_only)
    if as_json:
        _print_json(asdict(done))
    elif client.user_file is None:
        _print_fields(client, transports)
    elif print_only:
        _print_json(done.configuration)
    else:
        _print_outcome(client, done, removed=remove)
    return 0


def find_connected(client: Client) -> dict[str, dict[str, Any]]:
    """Return our entries in the user's file of a client; none if it is unreadable."""
    if client.user_file is None:
        return {}
    with suppress(QuinionError):
        servers = read_servers(client, read_config(client.file(None)))
        return {name: entry for name, entry in servers.items() if is_ours(name, entry)}
    return {}


def _find_transports(
    settings: Settings, client: Client, chosen: Sequence[str], named: list[str], http: bool
) -> Mapping[str, Transport]:
    if http and not client.supports_http:
        raise InvalidInput(
            f"{client.title} starts its servers itself and accepts no URL in its file. "
            "Leave --http out: the servers it starts share the engine of quinion serve."
        )
    if http or client.user_file is None:
        return find_http_transports(settings, named)
    return {name: make_stdio_transport(settings, name) for name in chosen}


def _connect(
    client: Client, transports: Mapping[str, Transport], project: Path | None, *, print_only: bool
) -> Outcome:
    shown = {
        name: transport.without_secrets() if isinstance(transport, StdioTransport) else transport
        for name, transport in transports.items()
    }
    wanted = add_servers(client, {}, shown)
    file = client.file(project) if client.user_file else None
    where = str(file) if file else None
    done = Outcome(client.name, where, False, list(transports), configuration=wanted)
    if file is None or print_only:
        return done
    try:
        before = read_config(file)
        done = _change(client, file, before, add_servers(client, before, transports), project, done)
    except QuinionError:
        typer.echo(f"Add this to {file}:", err=True)
        typer.echo(json.dumps(wanted, indent=2, ensure_ascii=False), err=True)
        raise
    if done.changed or done.commands:
        _warn(client, transports)
    return done


def _remove(client: Client, names: list[str], project: Path | None) -> Outcome:
    file = client.file(project)
    before = read_config(file)
    after = remove_servers(client, before, names)
    kept = read_servers(client, after)
    gone = [name for name in read_servers(client, before) if name not in kept]
    return _change(
        client, file, before, after, project, Outcome(client.name, str(file), False, gone)
    )


def _change(
    client: Client, file: Path, before: Config, after: Config, project: Path | None, done: Outcome
) -> Outcome:
    """Write the file, or run the client's own program if it has one."""
    if after == before:
        return done
    if client.program and project is None:
        # The client writes this file at any time, so only its program changes it safely.
        commands = _find_commands(client, before, after)
        if which(client.program) is None:
            return replace(done, commands=[shlex.join(command) for command in commands])
        backup = back_up(file)
        for command in commands:
            _run_program(command)
    else:
        backup = change_config(file, after)
    return replace(done, changed=True, backup=str(backup) if backup else None)


def _find_commands(client: Client, before: Config, after: Config) -> list[list[str]]:
    old, new = read_servers(client, before), read_servers(client, after)
    mcp, scope = [client.program, "mcp"], ["--scope", "user"]
    commands = []
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) == new.get(name):
            continue
        if name in old:
            commands.append([*mcp, "remove", *scope, name])
        if name in new:
            commands.append([*mcp, "add-json", *scope, name, json.dumps(new[name])])
    return commands


def _run_program(command: list[str]) -> None:
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=PROGRAM_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise QuinionError(f"{shlex.join(command)} failed ({error}).") from error
    if ended.returncode:
        output = (ended.stderr or ended.stdout).strip()
        raise QuinionError(f"{shlex.join(command)} failed: {output or ended.returncode}")


def _warn(client: Client, transports: Mapping[str, Transport]) -> None:
    """Warn about plain-text secrets, required variables and a program in uv's cache."""
    if any(
        isinstance(transport, StdioTransport) and UV_CACHE in Path(transport.command).parts
        for transport in transports.values()
    ):
        typer.echo(
            "This quinion is installed in the cache of uv, which may be emptied at any time. "
            "Install it with uv tool install, then run quinion connect again.",
            err=True,
        )
    shown = sorted(
        {
            secret
            for transport in transports.values()
            for secret in client.exposed_secrets(transport)
        }
    )
    if shown:
        typer.echo(
            f"{client.title} has no placeholders, so its file contains {', '.join(shown)}.",
            err=True,
        )
    needed = sorted(
        {name for transport in transports.values() for name in client.required_variables(transport)}
    )
    if needed and client.has_inputs:
        typer.echo(f"{client.title} will ask once for {', '.join(needed)}.", err=True)
    elif needed:
        typer.echo(
            f"Start {client.title} with {', '.join(needed)} in its environment.",
            err=True,
        )


def _print_fields(client: Client, transports: Mapping[str, Transport]) -> None:
    """Print the fields to fill in, labelled as in n8n's editor."""
    lines = [
        f"{client.title} is configured in its editor. For each server, add a node "
        "“MCP Client Tool” to an AI Agent and fill in:"
    ]
    for name, transport in transports.items():
        assert isinstance(transport, HttpTransport)
        token = f"Bearer Auth, with the value of {TOKEN}" if transport.wants_token else "None"
        lines += [
            f"\n{name}",
            f"  Endpoint          {transport.url}",
            "  Server Transport  HTTP Streamable",
            f"  Authentication    {token}",
        ]
    typer.echo("\n".join(lines))


def _print_outcome(client: Client, done: Outcome, *, removed: bool) -> None:
    if done.commands:
        typer.echo(f"The program {client.program} is not on the PATH. Run where it is installed:")
        typer.echo("\n".join(done.commands))
        return
    if not done.changed:
        message = "No entries of quinion in" if removed else "No changes needed in"
        typer.echo(f"{message} {done.file}.")
        return
    verb = "Removed from" if removed else "Written to"
    typer.echo(f"{verb} {done.file}: {', '.join(done.servers)}.")
    if done.backup:
        typer.echo(f"Backup of the previous file: {done.backup}")
    typer.echo(client.next_step)


def _list_clients(*, as_json: bool) -> int:
    rows: list[dict[str, Any]] = [
        {
            "client": client.name,
            "found": client.is_found(),
            "file": str(client.file(None)) if client.user_file else None,
            "servers": list(find_connected(client)),
        }
        for client in CLIENTS.values()
    ]
    if as_json:
        _print_json(rows)
        return 0
    table = Table("client", "found", Column("file", overflow="fold"), "connected to")
    for row in rows:
        found = "yes" if row["found"] else "no"
        name, file, servers = row["client"], row["file"], row["servers"]
        where = (found, escape(file)) if file else ("", "configured in its editor")
        table.add_row(name, *where, escape("\n".join(servers)))
    Console().print(table)
    typer.echo("Connect: quinion connect CLIENT. Preview: quinion connect CLIENT --print")
    return 0


def _print_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
