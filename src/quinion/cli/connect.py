"""`quinion connect`: our servers in the configuration of an MCP client."""

import json
import shlex
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from shutil import which
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from quinion.cli.clients import (
    CLIENTS,
    TOKEN,
    Client,
    add_servers,
    find_client,
    is_ours,
    read_servers,
    remove_servers,
)
from quinion.cli.configfile import Config, back_up, change_config, read_config
from quinion.cli.entries import Address, Start, Way, describe_start, find_addresses
from quinion.errors import InvalidInput, QuinionError
from quinion.servers.registry import CATALOG, find_server
from quinion.settings import Settings

UV_CACHE = "archive-v0"
"""The folder that `uvx` installs into for one run."""
PROGRAM_S = 60.0
"""How long a client's own program may take to change its configuration."""


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a client's configuration; `commands` are left to be run by hand."""

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
    """Connect a client, take our entries out again, or say which clients there are."""
    if name is None:
        if servers or http or print_only or remove or project:
            raise InvalidInput(f"Name a client first, one of: {', '.join(CLIENTS)}.")
        return _list_clients(as_json=as_json)
    client = find_client(name)
    for server in servers:
        find_server(server)
    if remove:
        if http or print_only:
            raise InvalidInput("--remove goes with --server and --project only.")
        done = _remove(client, servers or list(CATALOG), project)
    else:
        ways = _find_ways(settings, client, servers, http)
        done = _connect(client, ways, project, print_only=print_only)
    if as_json:
        _print_json(asdict(done))
    elif client.place is None:
        _print_fields(client, ways)
    elif print_only:
        _print_json(done.configuration)
    else:
        _tell(client, done, removed=remove)
    return 0


def find_connected(client: Client) -> dict[str, dict[str, Any]]:
    """Our entries in the file of the client's user; none where it can't be read."""
    if client.place is None:
        return {}
    with suppress(QuinionError):
        servers = read_servers(client, read_config(client.file(None)))
        return {name: entry for name, entry in servers.items() if is_ours(name, entry)}
    return {}


def _find_ways(
    settings: Settings, client: Client, servers: list[str], http: bool
) -> Mapping[str, Way]:
    if http and not client.takes_address:
        raise InvalidInput(
            f"{client.title} starts its servers itself and takes no address in its file. "
            "Leave --http out: what it starts shares the engine of a running quinion serve."
        )
    if http or client.place is None:
        return find_addresses(settings, servers)
    return {name: describe_start(settings, name) for name in servers or CATALOG}


def _connect(
    client: Client, ways: Mapping[str, Way], project: Path | None, *, print_only: bool
) -> Done:
    shown = {
        name: way.without_secrets() if isinstance(way, Start) else way for name, way in ways.items()
    }
    wanted = add_servers(client, {}, shown)
    file = client.file(project) if client.place else None
    where = str(file) if file else None
    done = Done(client.name, where, False, list(ways), configuration=wanted)
    if file is None or print_only:
        return done
    try:
        before = read_config(file)
        done = _change(client, file, before, add_servers(client, before, ways), project, done)
    except QuinionError:
        typer.echo(f"What belongs into {file}:", err=True)
        typer.echo(json.dumps(wanted, indent=2, ensure_ascii=False), err=True)
        raise
    if done.changed or done.commands:
        _warn(client, ways)
    return done


def _remove(client: Client, names: list[str], project: Path | None) -> Done:
    file = client.file(project)
    before = read_config(file)
    after = remove_servers(client, before, names)
    kept = read_servers(client, after)
    gone = [name for name in read_servers(client, before) if name not in kept]
    return _change(client, file, before, after, project, Done(client.name, str(file), False, gone))


def _change(
    client: Client, file: Path, before: Config, after: Config, project: Path | None, done: Done
) -> Done:
    """Write the file, or have the client's own program do it where that is the way."""
    if after == before:
        return done
    if client.program and project is None:
        # It writes there too, at any moment.
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
            command, capture_output=True, text=True, timeout=PROGRAM_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise QuinionError(f"{shlex.join(command)} failed ({error}).") from error
    if ended.returncode:
        said = (ended.stderr or ended.stdout).strip()
        raise QuinionError(f"{shlex.join(command)} failed: {said or ended.returncode}")


def _warn(client: Client, ways: Mapping[str, Way]) -> None:
    """Say what the entries rest on: secrets, and a program that has to stay where it is."""
    if any(isinstance(way, Start) and UV_CACHE in Path(way.command).parts for way in ways.values()):
        typer.echo(
            "This quinion is in the cache of uv, which may be emptied at any time. Install it "
            "with uv tool install, and connect again from there.",
            err=True,
        )
    shown = sorted({secret for way in ways.values() for secret in client.reveals(way)})
    if shown:
        typer.echo(
            f"{client.title} knows no placeholders, so its file has {', '.join(shown)} in it.",
            err=True,
        )
    needed = sorted({variable for way in ways.values() for variable in client.needs(way)})
    if needed and client.inputs:
        typer.echo(f"{client.title} will ask once for {', '.join(needed)}.", err=True)
    elif needed:
        typer.echo(
            f"{client.title} has to be started with {', '.join(needed)} in its environment.",
            err=True,
        )


def _print_fields(client: Client, ways: Mapping[str, Way]) -> None:
    """What is to be filled in by hand, in the words of n8n's editor."""
    lines = [
        f"{client.title} is configured in its editor. For each server, give an AI Agent a node "
        "“MCP Client Tool” and fill in:"
    ]
    for name, way in ways.items():
        assert isinstance(way, Address)
        token = f"Bearer Auth, with the value of {TOKEN}" if way.wants_token else "None"
        lines += [
            f"\n{name}",
            f"  Endpoint          {way.url}",
            "  Server Transport  HTTP Streamable",
            f"  Authentication    {token}",
        ]
    typer.echo("\n".join(lines))


def _tell(client: Client, done: Done, *, removed: bool) -> None:
    if done.commands:
        typer.echo(f"The program {client.program} is not on the PATH. Where it is, run:")
        typer.echo("\n".join(done.commands))
        return
    if not done.changed:
        said = "There is nothing of quinion's in" if removed else "Nothing to change in"
        typer.echo(f"{said} {done.file}.")
        return
    verb = "Removed from" if removed else "Written to"
    typer.echo(f"{verb} {done.file}: {', '.join(done.servers)}.")
    if done.backup:
        typer.echo(f"What was there before: {done.backup}")
    typer.echo(client.afterwards)


def _list_clients(*, as_json: bool) -> int:
    rows: list[dict[str, Any]] = [
        {
            "client": client.name,
            "found": client.is_found(),
            "file": str(client.file(None)) if client.place else None,
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
    typer.echo("Connect one: quinion connect CLIENT. Look first: quinion connect CLIENT --print")
    return 0


def _print_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
