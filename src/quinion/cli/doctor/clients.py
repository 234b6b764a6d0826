"""Checks of MCP clients: do their entries start this version with these settings?"""

import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from quinion import __version__
from quinion.cli.connect.clients import CLIENTS, Client, is_ours, read_servers
from quinion.cli.connect.configfile import read_config
from quinion.cli.connect.entries import find_program
from quinion.cli.doctor.servers import check_health
from quinion.errors import QuinionError
from quinion.installation import Finding
from quinion.servers.registry import CATALOG, differing
from quinion.settings import Settings

VERSION_TIMEOUT_S = 30.0


def check_clients(settings: Settings) -> Iterator[Finding]:
    """Check each installed client."""
    for client in CLIENTS.values():
        try:
            if client.user_file is not None and client.is_found():
                yield _check(settings, client)
        except QuinionError as error:
            yield Finding(client.title, False, str(error))


def _check(settings: Settings, client: Client) -> Finding:
    file = client.file(None)
    servers = read_servers(client, read_config(file))
    ours = {name: entry for name, entry in servers.items() if is_ours(name, entry)}
    advice = f"quinion connect {client.name}"
    if not ours:
        return Finding(client.title, True, f"not connected ({file})", advice)
    problems = [
        f"{name}: {problem}"
        for name, entry in ours.items()
        if (problem := _find_problem(settings, name, entry))
    ]
    if problems:
        return Finding(client.title, False, "\n".join([str(file), *problems]), advice)
    return Finding(client.title, True, f"{', '.join(ours)} ({file})")


def _find_problem(settings: Settings, name: str, entry: dict[str, Any]) -> str:
    """Describe the problem of an entry; empty if there is none."""
    if "url" in entry:
        found = check_health(name, str(entry["url"]).rpartition("/")[0])
        return "" if found.well else found.found
    command = str(entry["command"])
    if shutil.which(command) is None:
        return f"program not found: {command}"
    version = _ask_version(command)
    if version != __version__:
        return f"{command} is quinion {version}, this is {__version__}"
    return _compare(settings, entry)


@cache
def _ask_version(command: str) -> str:
    if Path(command).absolute() == find_program():
        return __version__
    try:
        ended = subprocess.run(
            [command, "--version"],
            capture_output=True,
            text=True,
            timeout=VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "of unknown version"
    return ended.stdout.strip().removeprefix("quinion ") or "of unknown version"


def _compare(settings: Settings, entry: dict[str, Any]) -> str:
    """Compare settings; a difference means another home, or a refused connection."""
    env = entry.get("env") or {}
    if not isinstance(env, dict):
        return "its env is not an object"
    args = entry.get("args")
    server = CATALOG.get(str(args[-1])) if isinstance(args, list) and args else None
    # Values of placeholders are known only to the client.
    known = {name: str(value) for name, value in env.items() if "${" not in str(value)}
    hidden = set(env) - set(known)
    try:
        theirs = Settings.from_environment(known)
    except QuinionError as error:
        return str(error)
    others = differing(["home"], theirs, settings)
    if server:
        others += server.differing(theirs, settings)
    others = [variable for variable in dict.fromkeys(others) if variable not in hidden]
    return f"settings differ from this environment: {', '.join(others)}" if others else ""
