"""The MCP clients that we know: where their configuration is, and what an entry in it looks like.

| client | file of the user | in a project | a secret is written as |
|---|---|---|---|
| Claude Desktop | Claude/claude_desktop_config.json | | itself: it knows no placeholders |
| Claude Code | .claude.json, by its own program | .mcp.json | ${NAME} |
| Cursor | .cursor/mcp.json | .cursor/mcp.json | ${env:NAME} |
| VS Code | Code/User/mcp.json | .vscode/mcp.json | ${input:id}, which it asks for once |
| n8n | none: its editor | | a credential of its editor |
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import which

import platformdirs

from quinion.cli.configfile import Config
from quinion.cli.entries import PROGRAM, Start, Way
from quinion.errors import BadSetting, InvalidInput, QuinionError
from quinion.servers.registry import CATALOG
from quinion.settings import Settings

TOKEN = "MCP_API_KEY"  # noqa: S105 - the name of the variable
CONNECTION = frozenset({"type", "command", "args", "env", "url", "headers"})
"""What of an entry is ours; all else in it is its user's."""
INPUT_PREFIX = "quinion-"


@dataclass(frozen=True, slots=True)
class Client:
    """A client: `place` gives its user's file, `in_project` names the one inside a project.

    `key` is what its file calls the servers; `says_type`: an entry says whether it is started or
    called; `hide` writes a secret in a way that does not tell it; `inputs`: the file lists what
    has to be asked for; `program`: the client changes its file itself.
    """

    name: str
    title: str
    place: Callable[[], Path] | None = None
    in_project: str = ""
    key: str = "mcpServers"
    says_type: bool = False
    takes_address: bool = True
    hide: Callable[[str], str] | None = None
    inputs: bool = False
    program: str = ""
    afterwards: str = ""

    def file(self, project: Path | None) -> Path:
        """Its file: its user's, or that of a project.

        Raises:
            InvalidInput: it has none of that kind.
        """
        if project is not None:
            if not self.in_project:
                raise InvalidInput(f"{self.title} has no configuration for a project.")
            if not project.is_dir():
                raise InvalidInput(f"There is no folder {project}.")
            return project.absolute() / self.in_project
        if self.place is None:
            raise InvalidInput(f"{self.title} has no configuration file.")
        return self.place()

    def is_found(self) -> bool:
        """Whether it has been used on this machine, as far as can be seen."""
        if self.program and which(self.program):
            return True
        if self.place is None:
            return False
        folder = self.place().parent
        return self.place().exists() or (folder != home() and folder.is_dir())

    def write_entry(self, way: Way) -> Config:
        """The entry of a server in its file."""
        if isinstance(way, Start):
            entry: Config = {"type": "stdio"} if self.says_type else {}
            entry |= {"command": way.command, "args": way.args}
            if way.variables:
                entry["env"] = {
                    name: self._hide(name) if name in way.secrets and self.hide else value
                    for name, value in way.variables.items()
                }
            return entry
        entry = {"type": "http"} if self.says_type else {}
        entry["url"] = way.url
        if way.wants_token:
            entry["headers"] = {"Authorization": f"Bearer {self._hide(TOKEN)}"}
        return entry

    def reveals(self, way: Way) -> list[str]:
        """The secrets that the entry will have in it, for want of another way."""
        return sorted(way.secrets) if isinstance(way, Start) and self.hide is None else []

    def needs(self, way: Way) -> list[str]:
        """The variables that the client itself has to have, or to ask for."""
        if isinstance(way, Start):
            return sorted(way.secrets) if self.hide else []
        return [TOKEN] if way.wants_token else []

    def _hide(self, variable: str) -> str:
        return self.hide(variable) if self.hide else f"<your {variable}>"


def home() -> Path:
    """The home folder of the user.

    Raises:
        BadSetting: nothing says where it is.
    """
    try:
        path = Path.home()
    except RuntimeError:
        path = Path()
    # Set to empty, HOME is the root for Python.
    if not path.is_absolute() or path == Path("/"):
        raise BadSetting("HOME: it is not known where your home folder is. Set HOME.")
    return path


def _config_folder(name: str) -> Path:
    """Where a desktop program keeps its configuration: ~/.config or ~/Library."""
    home()
    return platformdirs.user_config_path(name, appauthor=False)


def input_id(variable: str) -> str:
    """What VS Code knows the value of the variable by."""
    return INPUT_PREFIX + variable.lower().replace("_", "-")


CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude-desktop",
            "Claude Desktop",
            lambda: _config_folder("Claude") / "claude_desktop_config.json",
            takes_address=False,
            afterwards="Quit Claude Desktop and start it again.",
        ),
        Client(
            "claude-code",
            "Claude Code",
            lambda: home() / ".claude.json",
            ".mcp.json",
            says_type=True,
            hide=lambda variable: f"${{{variable}}}",
            program="claude",
            afterwards="Start Claude Code anew; /mcp shows its servers.",
        ),
        Client(
            "cursor",
            "Cursor",
            lambda: home() / ".cursor" / "mcp.json",
            ".cursor/mcp.json",
            hide=lambda variable: f"${{env:{variable}}}",
            afterwards="Start Cursor anew; its settings list MCP servers.",
        ),
        Client(
            "vscode",
            "VS Code",
            lambda: _config_folder("Code") / "User" / "mcp.json",
            ".vscode/mcp.json",
            key="servers",
            says_type=True,
            hide=lambda variable: f"${{input:{input_id(variable)}}}",
            inputs=True,
            afterwards="VS Code asks once whether you trust each server.",
        ),
        Client("n8n", "n8n"),
    )
}


def find_client(name: str) -> Client:
    """The client of that name.

    Raises:
        InvalidInput: there is none.
    """
    try:
        return CLIENTS[name]
    except KeyError:
        raise InvalidInput(
            f"There is no client {name!r}. The clients are: {', '.join(CLIENTS)}."
        ) from None


def add_servers(client: Client, config: Config, ways: Mapping[str, Way]) -> Config:
    """The configuration with these servers in it, and all else as it was.

    Raises:
        QuinionError: there is something else under one of these names.
    """
    servers = read_servers(client, config)
    for name, way in ways.items():
        before = servers.get(name, {})
        if before and not is_ours(name, before):
            raise QuinionError(
                f"{client.title} has another server called {name}. Rename it there, or choose "
                "which of quinion's servers to connect with --server."
            )
        servers[name] = _merge(before, client.write_entry(way))
    return _with_servers(client, config, servers)


def remove_servers(client: Client, config: Config, names: list[str]) -> Config:
    """The configuration without our entries of these names."""
    servers = read_servers(client, config)
    kept = {
        name: entry
        for name, entry in servers.items()
        if name not in names or not is_ours(name, entry)
    }
    return _with_servers(client, config, kept) if kept != servers else config


def read_servers(client: Client, config: Config) -> Config:
    """The entries of all servers, by their names.

    Raises:
        QuinionError: they are not of that form.
    """
    servers = config.get(client.key, {})
    if not isinstance(servers, dict):
        raise QuinionError(f"{client.key!r} is not an object there, as {client.title} wants it.")
    return dict(servers)


def is_ours(name: str, entry: object) -> bool:
    """Whether an entry names one of our programs, or one of our servers by an address."""
    if not isinstance(entry, dict):
        return False
    if "url" in entry:
        return name in CATALOG and str(entry["url"]).endswith(("/mcp", "/sse"))
    command, args = Path(str(entry.get("command", ""))).name, entry.get("args") or []
    if command == PROGRAM:
        return isinstance(args, list) and args[:1] == ["stdio"]
    return command in {f"{server}-mcp" for server in CATALOG}


def _merge(before: Config, entry: Config) -> Config:
    """Our entry, with what its user has added to it."""
    merged = {name: value for name, value in before.items() if name not in CONNECTION} | entry
    theirs = before.get("env")
    if isinstance(theirs, dict) and "command" in entry:
        known = Settings.variables()
        env = {name: value for name, value in theirs.items() if name not in known}
        merged["env"] = env | entry.get("env", {})
    return merged


def _with_servers(client: Client, config: Config, servers: Config) -> Config:
    changed = config | {client.key: servers}
    return _list_inputs(changed, servers) if client.inputs else changed


def _list_inputs(config: Config, servers: Config) -> Config:
    """VS Code's list of what it has to ask for, as our entries need it."""
    before = config.get("inputs", [])
    if not isinstance(before, list):
        raise QuinionError("'inputs' is not a list there, as VS Code wants it.")
    said = str(servers)
    known = {one.get("id") for one in before if isinstance(one, dict)}
    needed = {
        input_id(variable): variable
        for variable in Settings.variables()
        if f"${{input:{input_id(variable)}}}" in said
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
