"""What a client has to know of a server: how to start it, or where it answers."""

import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import SecretStr

from quinion.errors import QuinionError
from quinion.servers.registry import CATALOG, COMMON, Entry, find_server
from quinion.settings import Settings
from quinion.store.lock import is_held, read_holder

PROGRAM = "quinion"
EVERYWHERE = ("home", "workers", "idle_seconds", *COMMON)
"""Settings that whichever server is started has to be given; those of HTTP are not among them."""
OF_DOCVEC = ("docvec_db_path", "docvec_collection")
"""Where it keeps what it keeps; the catalog has the rest of its settings."""
_PASSWORD = re.compile(r"://[^/]*:[^/]*@")


@dataclass(frozen=True, slots=True)
class Start:
    """How a client starts a server; `secrets` are the variables whose values nobody should see."""

    command: str
    args: list[str]
    variables: dict[str, str]
    secrets: frozenset[str]

    def without_secrets(self) -> "Start":
        """The same with a place for each secret instead: to be shown."""
        shown = {
            name: f"<your {name}>" if name in self.secrets else value
            for name, value in self.variables.items()
        }
        return replace(self, variables=shown)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server answers, and whether it wants the token of MCP_API_KEY."""

    url: str
    wants_token: bool


Way = Start | Address


def describe_start(settings: Settings, name: str) -> Start:
    """How this installation starts the server, so that it does what it would do from here.

    Raises:
        InvalidInput: there is no such server.
        QuinionError: this installation has no `quinion` that a client could start.
    """
    entry = find_server(name)
    variables, secrets = _choose_variables(settings, entry)
    return Start(str(find_program()), ["stdio", name], variables, secrets)


def find_program() -> Path:
    """The `quinion` of this installation, as an absolute path.

    Raises:
        QuinionError: there is none.
    """
    # Not resolved: in a virtual environment the interpreter is a link to one that lacks us.
    beside = Path(sys.executable).absolute().with_name(PROGRAM)
    if beside.is_file():
        return beside
    if found := shutil.which(PROGRAM):
        return Path(found).absolute()
    raise QuinionError(
        f"There is no program {PROGRAM} beside {sys.executable} or on the PATH, so no client "
        "could start it. Install quinion with pip, pipx or uv tool install."
    )


def find_addresses(settings: Settings, names: Sequence[str]) -> dict[str, Address]:
    """Where the servers answer now; without names, those that do.

    Raises:
        InvalidInput: there is no such server.
        QuinionError: one of them, or all, are not served over HTTP.
    """
    found: dict[str, Address] = {}
    for name in names or CATALOG:
        home = find_server(name).settings(settings).home
        holder = read_holder(home) if is_held(home) else None
        if holder and (address := holder.addresses.get(name)):
            found[name] = Address(f"{address}/mcp", settings.api_key is not None)
    missing = [name for name in names or CATALOG if name not in found]
    if missing and (names or not found):
        raise QuinionError(
            f"Not served over HTTP now: {', '.join(missing)}. Run quinion serve in another "
            "terminal, and try again."
        )
    return found


def _choose_variables(settings: Settings, entry: Entry) -> tuple[dict[str, str], frozenset[str]]:
    """The variables that differ from what they are by themselves, and the secret ones of them."""
    plain = Settings()
    fields = (*EVERYWHERE, *entry.own, *(OF_DOCVEC if entry.name == "docvec" else ()))
    variables: dict[str, str] = {}
    secrets: set[str] = set()
    for field in fields:
        value = getattr(settings, field)
        if value != getattr(plain, field):
            variable = Settings.variable(field)
            # Set to empty is how CHROMA_PERSIST_DIR says that.
            variables[variable] = "" if field == "chroma_in_memory" else _write(value)
            if isinstance(value, SecretStr) or _PASSWORD.search(variables[variable]):
                secrets.add(variable)
    return variables, frozenset(secrets)


def _write(value: object) -> str:
    """The value as the environment has it."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return os.pathsep.join(map(str, value))
    return str(value)
