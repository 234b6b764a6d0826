"""Transports of the servers for a client: a command to start, or a URL."""

import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import SecretStr

from quinion.errors import InvalidInput, QuinionError
from quinion.servers import mistral_ocr
from quinion.servers.registry import CATALOG, COMMON, Entry, find_server
from quinion.settings import Settings
from quinion.store.lock import is_held, read_holder

PROGRAM = "quinion"
VARIABLES = (*Settings.variables(), *mistral_ocr.VARIABLES)
"""Variables that entries of ours may have."""
LOG_FIELDS = ("log_level", "log_format", "otel_endpoint")
COMMON_FIELDS = ("home", "workers", "idle_seconds", *LOG_FIELDS, *COMMON)
"""Settings passed to every server that a client starts; HTTP settings are not included."""
DOCVEC_FIELDS = ("docvec_db_path", "docvec_collection")
"""Storage settings of DocVec; the registry of servers has its other settings."""
_PASSWORD = re.compile(r"://[^/]*:[^/]*@")


@dataclass(frozen=True, slots=True)
class StdioTransport:
    """Command that starts a server on stdio; `secrets` names the secret variables."""

    command: str
    args: list[str]
    variables: dict[str, str]
    secrets: frozenset[str]

    def without_secrets(self) -> "StdioTransport":
        """Return a copy with placeholders for secrets, for printing."""
        shown = {
            name: f"<your {name}>" if name in self.secrets else value
            for name, value in self.variables.items()
        }
        return replace(self, variables=shown)


@dataclass(frozen=True, slots=True)
class HttpTransport:
    """URL of a running server; `wants_token` if it requires MCP_API_KEY."""

    url: str
    wants_token: bool


Transport = StdioTransport | HttpTransport


def list_servers() -> list[str]:
    """Return the names of all servers that a client can be connected to."""
    return [*CATALOG, mistral_ocr.NAME]


def choose_servers(names: Sequence[str]) -> Sequence[str]:
    """Return the named servers; without names, all, and mistral-ocr if its variables are set.

    Raises:
        InvalidInput: no such server.
    """
    known = list_servers()
    for name in names:
        if name not in known:
            raise InvalidInput(f"There is no server {name!r}. The servers are: {', '.join(known)}.")
    return names or (known if mistral_ocr.is_configured() else list(CATALOG))


def make_stdio_transport(settings: Settings, name: str) -> StdioTransport:
    """Build the start command of a server with the current settings.

    Raises:
        InvalidInput: no such server.
        QuinionError: this installation has no `quinion` program, or a variable that
            mistral-ocr needs is missing.
    """
    if name == mistral_ocr.NAME:
        variables, secrets = _choose_ocr_variables(settings)
    else:
        variables, secrets = _choose_variables(settings, find_server(name))
    return StdioTransport(str(find_program()), ["stdio", name], variables, secrets)


def find_program() -> Path:
    """Return the absolute path of this installation's `quinion` program.

    Raises:
        QuinionError: no program found.
    """
    # Not resolved: a virtual environment's interpreter links to one without this package.
    beside = Path(sys.executable).absolute().with_name(PROGRAM)
    if beside.is_file():
        return beside
    if found := shutil.which(PROGRAM):
        return Path(found).absolute()
    raise QuinionError(
        f"No program {PROGRAM} beside {sys.executable} or on the PATH, so no client can start "
        "it. Install the wheel of quinion with pip, pipx or uv tool install (docs/installing.md)."
    )


def find_http_transports(settings: Settings, names: Sequence[str]) -> dict[str, HttpTransport]:
    """Find the URLs of running servers; without names, of all that run.

    Raises:
        QuinionError: a named server, or every server, is not served over HTTP.
    """
    found: dict[str, HttpTransport] = {}
    for name in names or list_servers():
        home = (CATALOG[name].settings(settings) if name in CATALOG else settings).home
        holder = read_holder(home) if is_held(home) else None
        if holder and (address := holder.addresses.get(name)):
            found[name] = HttpTransport(f"{address}/mcp", settings.api_key is not None)
    missing = [name for name in names or list_servers() if name not in found]
    if missing and (names or not found):
        raise QuinionError(
            f"Not served over HTTP: {', '.join(missing)}. Run quinion serve in another terminal, "
            "then retry."
        )
    return found


def _choose_variables(settings: Settings, entry: Entry) -> tuple[dict[str, str], frozenset[str]]:
    """Return the variables that differ from their defaults, and the names of secret ones."""
    plain = Settings()
    fields = (*COMMON_FIELDS, *entry.own, *(DOCVEC_FIELDS if entry.name == "docvec" else ()))
    variables: dict[str, str] = {}
    secrets: set[str] = set()
    for field in fields:
        value = getattr(settings, field)
        if value != getattr(plain, field):
            variable = Settings.variable(field)
            # An empty CHROMA_PERSIST_DIR selects the in-memory store.
            variables[variable] = "" if field == "chroma_in_memory" else _format_value(value)
            if isinstance(value, SecretStr) or _PASSWORD.search(variables[variable]):
                secrets.add(variable)
    return variables, frozenset(secrets)


def _choose_ocr_variables(settings: Settings) -> tuple[dict[str, str], frozenset[str]]:
    """Return the variables of mistral-ocr, which has no home and no engine."""
    variables = mistral_ocr.read_variables()
    if settings.read_roots:
        variables[Settings.variable("read_roots")] = _format_value(settings.read_roots)
    secrets = {name for name, value in variables.items() if _PASSWORD.search(value)}
    return variables, frozenset({mistral_ocr.KEY, *secrets})


def _format_value(value: object) -> str:
    """Format a setting as an environment variable."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return os.pathsep.join(map(str, value))
    return str(value)
