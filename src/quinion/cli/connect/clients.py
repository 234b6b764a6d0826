"""Supported MCP clients: the location and format of their configuration.

| client | user file | project file | a secret is written as |
|---|---|---|---|
| Claude Desktop | Claude/claude_desktop_config.json | | plain text: no placeholders |
| Claude Code | .claude.json, through the `claude` program | .mcp.json | ${NAME} |
| Cursor | .cursor/mcp.json | .cursor/mcp.json | ${env:NAME} |
| VS Code | Code/User/mcp.json | .vscode/mcp.json | ${input:id}; VS Code asks once |
| n8n | none: configured in its editor | | a credential in its editor |
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import which

import platformdirs

from quinion.cli.connect.configfile import Config
from quinion.cli.connect.entries import (
    PROGRAM,
    VARIABLES,
    StdioTransport,
    Transport,
    list_servers,
)
from quinion.errors import BadSetting, InvalidInput, QuinionError

TOKEN = "MCP_API_KEY"  # noqa: S105 - the name of the variable
CONNECTION = frozenset({"type", "command", "args", "env", "url", "headers"})
"""Keys of an entry that quinion writes; the user owns all others."""
INPUT_PREFIX = "quinion-"


@dataclass(frozen=True, slots=True)
class Client:
    """An MCP client and the format of its configuration file.

    Attributes:
        user_file: returns the user's configuration file; None if the client has no file.
        project_file: path of the configuration file inside a project; empty if unsupported.
        key: name of the JSON object that holds the servers.
        writes_type: entries have a `type`, "stdio" or "http".
        supports_http: entries may be URLs.
        placeholder: returns the client's placeholder for a secret variable.
        has_inputs: the file lists the values that the client asks the user for.
        program: the client's own program, which changes its file.
        next_step: instruction printed after a change.
    """

    name: str
    title: str
    user_file: Callable[[], Path] | None = None
    project_file: str = ""
    key: str = "mcpServers"
    writes_type: bool = False
    supports_http: bool = True
    placeholder: Callable[[str], str] | None = None
    has_inputs: bool = False
    program: str = ""
    next_step: str = ""

    def file(self, project: Path | None) -> Path:
        """Return the user's file, or the file of a project.

        Raises:
            InvalidInput: the client has no such file, or the project folder does not exist.
        """
        if project is not None:
            if not self.project_file:
                raise InvalidInput(
                    f"{self.title} has no project configuration. Leave --project out."
                )
            if not project.is_dir():
                raise InvalidInput(f"Folder not found: {project}.")
            return project.absolute() / self.project_file
        if self.user_file is None:
            raise InvalidInput(f"{self.title} has no configuration file.")
        return self.user_file()

    def is_found(self) -> bool:
        """Whether the client seems to be installed on this machine."""
        if self.program and which(self.program):
            return True
        if self.user_file is None:
            return False
        folder = self.user_file().parent
        return self.user_file().exists() or (folder != home() and folder.is_dir())

    def write_entry(self, transport: Transport) -> Config:
        """Build the entry of a server in the client's file."""
        if isinstance(transport, StdioTransport):
            entry: Config = {"type": "stdio"} if self.writes_type else {}
            entry |= {"command": transport.command, "args": transport.args}
            if transport.variables:
                entry["env"] = {
                    name: self._placeholder(name)
                    if name in transport.secrets and self.placeholder
                    else value
                    for name, value in transport.variables.items()
                }
            return entry
        entry = {"type": "http"} if self.writes_type else {}
        entry["url"] = transport.url
        if transport.wants_token:
            entry["headers"] = {"Authorization": f"Bearer {self._placeholder(TOKEN)}"}
        return entry

    def exposed_secrets(self, transport: Transport) -> list[str]:
        """Secrets that the entry contains as plain text, as the client has no placeholders."""
        if isinstance(transport, StdioTransport) and self.placeholder is None:
            return sorted(transport.secrets)
        return []

    def required_variables(self, transport: Transport) -> list[str]:
        """Variables that must be in the client's environment, or that it asks for."""
        if isinstance(transport, StdioTransport):
            return sorted(transport.secrets) if self.placeholder else []
        return [TOKEN] if transport.wants_token else []

    def _placeholder(self, variable: str) -> str:
        return self.placeholder(variable) if self.placeholder else f"<your {variable}>"


def home() -> Path:
    """Return the user's home folder.

    Raises:
        BadSetting: it cannot be determined.
    """
    try:
        path = Path.home()
    except RuntimeError:
        path = Path()
    # An empty HOME makes Python return the root folder.
    if not path.is_absolute() or path == Path("/"):
        raise BadSetting("HOME: your home folder cannot be determined. Set HOME.")
    return path


def _config_folder(name: str) -> Path:
    """Configuration folder of a desktop program, in ~/.config or ~/Library."""
    home()
    return platformdirs.user_config_path(name, appauthor=False)


def input_id(variable: str) -> str:
    """Id of the VS Code input that holds the variable's value."""
    return INPUT_PREFIX + variable.lower().replace("_", "-")


CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude-desktop",
            "Claude Desktop",
            lambda: _config_folder("Claude") / "claude_desktop_config.json",
            supports_http=False,
            next_step="Quit and restart Claude Desktop.",
        ),
        Client(
            "claude-code",
            "Claude Code",
            lambda: home() / ".claude.json",
            ".mcp.json",
            writes_type=True,
            placeholder=lambda variable: f"${{{variable}}}",
            program="claude",
            next_step="Restart Claude Code; /mcp lists its servers.",
        ),
        Client(
            "cursor",
            "Cursor",
            lambda: home() / ".cursor" / "mcp.json",
            ".cursor/mcp.json",
            placeholder=lambda variable: f"${{env:{variable}}}",
            next_step="Restart Cursor; its settings list MCP servers.",
        ),
        Client(
            "vscode",
            "VS Code",
            lambda: _config_folder("Code") / "User" / "mcp.json",
            ".vscode/mcp.json",
            key="servers",
            writes_type=True,
            placeholder=lambda variable: f"${{input:{input_id(variable)}}}",
            has_inputs=True,
            next_step="VS Code asks once whether you trust each server.",
        ),
        Client("n8n", "n8n"),
    )
}


def find_client(name: str) -> Client:
    """Return the client with this name.

    Raises:
        InvalidInput: no such client.
    """
    try:
        return CLIENTS[name]
    except KeyError:
        raise InvalidInput(f"Unknown client {name!r}. Use one of: {', '.join(CLIENTS)}.") from None


def add_servers(client: Client, config: Config, transports: Mapping[str, Transport]) -> Config:
    """Return the configuration with these servers added or updated.

    Raises:
        QuinionError: another program's server has one of these names.
    """
    servers = read_servers(client, config)
    for name, transport in transports.items():
        before = servers.get(name, {})
        if before and not is_ours(name, before):
            raise QuinionError(
                f"{client.title} has another server called {name}. Rename it there, or select "
                "other servers of quinion with --server."
            )
        servers[name] = _merge(before, client.write_entry(transport))
    return _with_servers(client, config, servers)


def remove_servers(client: Client, config: Config, names: list[str]) -> Config:
    """Return the configuration without quinion's entries of these names."""
    servers = read_servers(client, config)
    kept = {
        name: entry
        for name, entry in servers.items()
        if name not in names or not is_ours(name, entry)
    }
    return _with_servers(client, config, kept) if kept != servers else config


def read_servers(client: Client, config: Config) -> Config:
    """Return the entries of all servers by name.

    Raises:
        QuinionError: the entries are not a JSON object.
    """
    servers = config.get(client.key, {})
    if not isinstance(servers, dict):
        raise QuinionError(f"{client.title}'s configuration: {client.key!r} must be a JSON object.")
    return dict(servers)


def is_ours(name: str, entry: object) -> bool:
    """Whether an entry starts a program of quinion, or is the URL of one of its servers."""
    if not isinstance(entry, dict):
        return False
    if "url" in entry:
        return name in list_servers() and str(entry["url"]).endswith(("/mcp", "/sse"))
    command, args = Path(str(entry.get("command", ""))).name, entry.get("args") or []
    if command == PROGRAM:
        return isinstance(args, list) and args[:1] == ["stdio"]
    return command in {f"{server}-mcp" for server in list_servers()}


def _merge(before: Config, entry: Config) -> Config:
    """Merge our entry with the keys and variables that the user added."""
    merged = {name: value for name, value in before.items() if name not in CONNECTION} | entry
    theirs = before.get("env")
    if isinstance(theirs, dict) and "command" in entry:
        env = {name: value for name, value in theirs.items() if name not in VARIABLES}
        merged["env"] = env | entry.get("env", {})
    return merged


def _with_servers(client: Client, config: Config, servers: Config) -> Config:
    changed = config | {client.key: servers}
    return _list_inputs(changed, servers) if client.has_inputs else changed


def _list_inputs(config: Config, servers: Config) -> Config:
    """Update VS Code's list of inputs to those that our entries use."""
    before = config.get("inputs", [])
    if not isinstance(before, list):
        raise QuinionError("VS Code's configuration: 'inputs' must be a list.")
    text = str(servers)
    known = {one.get("id") for one in before if isinstance(one, dict)}
    needed = {
        input_id(variable): variable
        for variable in VARIABLES
        if f"${{input:{input_id(variable)}}}" in text
    }
    kept = [
        one
        for one in before
        if not isinstance(one, dict)
        or not str(one.get("id", "")).startswith(INPUT_PREFIX)
        or one.get("id") in needed
    ]
    added = [
        {"type": "promptString", "id": id_, "description": variable, "password": True}
        for id_, variable in needed.items()
        if id_ not in known
    ]
    if not (kept or added or before):
        return config
    return config | {"inputs": [*kept, *added]}
