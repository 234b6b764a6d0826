"""`quinion connect` on real client files, in the home folder of a test user."""

import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quinion import __version__
from quinion.cli.connect.clients import CLIENTS, add_servers, find_client, remove_servers
from quinion.cli.connect.configfile import change_config, read_config
from quinion.cli.connect.entries import StdioTransport
from quinion.servers import mistral_ocr
from quinion.store.lock import Holder, hold
from tests.unit.cli.conftest import Run

SERVERS = ["document-store", "policy-kb", "docvec", "doclibrary"]
WITH_FILES = ["claude-desktop", "cursor", "vscode"]
PROGRAM = str(Path(sys.executable).with_name("quinion"))
FAILED, WRONG_USE, BAD_SETTING = 1, 2, 3
CONFIG = Path("Library/Application Support" if sys.platform == "darwin" else ".config")
OTHERS = {
    "theme": "dark",
    "mcpServers": {"files": {"command": "npx", "args": ["-y", "files"], "disabled": True}},
    "zoom": 1.5,
    "name": "Zoë",
}

# The changes of the program `claude` to its file that matter here.
CLAUDE = """\
#!{python}
import json, pathlib, sys
_, mcp, verb, _, scope, name, *rest = sys.argv
assert (mcp, scope) == ("mcp", "user")
file = pathlib.Path.home() / ".claude.json"
config = json.loads(file.read_text()) if file.exists() else {{}}
servers = config.setdefault("mcpServers", {{}})
if verb == "add-json":
    if name in servers:
        sys.exit(f"MCP server {{name}} already exists in user config")
    servers[name] = json.loads(rest[0])
else:
    del servers[name]
file.write_text(json.dumps(config))
"""


@pytest.fixture
def user(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of a user without clients, and with one setting: QUINION_WORKERS."""
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.delenv("CHROMA_PERSIST_DIR")
    for variable in mistral_ocr.VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    return folder


@pytest.fixture
def desktop(user: Path) -> Path:
    """Claude Desktop's file, with entries of other programs."""
    file = find_client("claude-desktop").file(None)
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(OTHERS, indent=4, ensure_ascii=False))
    file.chmod(0o640)
    return file


@pytest.fixture
def served(home: Path) -> Iterator[None]:
    """The home is held by a process that serves two servers over HTTP."""
    addresses = {"document-store": "http://127.0.0.1:4002", "docvec": "http://127.0.0.1:4004"}
    with hold(home, __version__) as lock:
        lock.announce(Holder(os.getpid(), __version__, "", addresses))
        yield


def read(client: str) -> dict[str, Any]:
    return dict(json.loads(find_client(client).file(None).read_text()))


def test_the_clients_are_listed_with_their_files(quinion: Run, user: Path) -> None:
    (user / ".cursor").mkdir()
    rows = {row["client"]: row for row in quinion("connect", "--json").json}
    assert list(rows) == list(CLIENTS)
    assert {name for name, row in rows.items() if row["found"]} == {"cursor"}
    assert rows["cursor"]["file"] == str(user / ".cursor" / "mcp.json")
    files = {
        "claude-desktop": user / CONFIG / "Claude" / "claude_desktop_config.json",
        "vscode": user / CONFIG / "Code" / "User" / "mcp.json",
        "claude-code": user / ".claude.json",
    }
    assert {name: Path(rows[name]["file"]) for name in files} == files
    assert rows["n8n"]["file"] is None
    assert quinion("connect", "cursor", "--server", "docvec").status == 0
    rows = {row["client"]: row for row in quinion("connect", "--json").json}
    assert rows["cursor"]["servers"] == ["docvec"]
    shown = quinion("connect")
    assert shown.status == 0
    assert "docvec" in shown.out


@pytest.mark.parametrize("client", WITH_FILES)
def test_all_servers_are_written_in_the_form_of_the_client(
    quinion: Run, user: Path, home: Path, client: str
) -> None:
    ended = quinion("connect", client)
    assert ended.status == 0, ended.err
    config = read(client)
    [key] = config
    assert key == ("servers" if client == "vscode" else "mcpServers")
    assert list(config[key]) == SERVERS
    for name, entry in config[key].items():
        kind = {"type": "stdio"} if client == "vscode" else {}
        env = {"QUINION_HOME": str(home), "QUINION_WORKERS": "1"}
        assert entry == {**kind, "command": PROGRAM, "args": ["stdio", name], "env": env}
    file = find_client(client).file(None)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_other_entries_are_kept_and_a_backup_is_written(quinion: Run, desktop: Path) -> None:
    before = desktop.read_bytes()
    older = desktop.with_name(f"{desktop.name}.bak")
    older.write_text("an older copy")
    ended = quinion("connect", "claude-desktop", "--server", "docvec", "--json").json
    assert ended["changed"] is True
    assert ended["servers"] == ["docvec"]
    config = read("claude-desktop")
    assert list(config) == list(OTHERS)
    assert list(config["mcpServers"]) == ["files", "docvec"]
    del config["mcpServers"]["docvec"]
    assert config == OTHERS
    assert '\n    "theme"' in desktop.read_text()
    assert "Zoë" in desktop.read_text()
    assert stat.S_IMODE(desktop.stat().st_mode) == 0o640
    backup = Path(ended["backup"])
    assert backup.parent == desktop.parent
    assert backup.read_bytes() == before
    assert stat.S_IMODE(backup.stat().st_mode) == 0o640
    assert older.read_text() == "an older copy"


def test_nothing_is_written_when_nothing_changes(quinion: Run, desktop: Path) -> None:
    quinion("connect", "claude-desktop")
    before, files = desktop.stat(), sorted(desktop.parent.iterdir())
    ended = quinion("connect", "claude-desktop", "--json").json
    assert ended["changed"] is False
    assert ended["backup"] is None
    after = desktop.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert sorted(desktop.parent.iterdir()) == files


def test_printing_writes_nothing(quinion: Run, user: Path) -> None:
    ended = quinion("connect", "vscode", "--print", "--server", "policy-kb")
    assert list(ended.json["servers"]) == ["policy-kb"]
    assert list(user.iterdir()) == []


def test_our_entries_are_taken_out_and_no_others(quinion: Run, desktop: Path) -> None:
    quinion("connect", "claude-desktop")
    ended = quinion("connect", "claude-desktop", "--remove", "--server", "docvec", "--json").json
    assert ended["servers"] == ["docvec"]
    ended = quinion("connect", "claude-desktop", "--remove", "--json").json
    assert ended["servers"] == ["document-store", "policy-kb", "doclibrary"]
    assert read("claude-desktop") == OTHERS
    again = quinion("connect", "claude-desktop", "--remove", "--json").json
    assert again["changed"] is False


def test_another_server_of_the_same_name_is_left_alone(quinion: Run, desktop: Path) -> None:
    theirs = {"mcpServers": {"docvec": {"command": "node", "args": ["docvec.js"]}}}
    desktop.write_text(json.dumps(theirs))
    ended = quinion("connect", "claude-desktop")
    assert ended.status == FAILED
    assert "docvec" in ended.err.splitlines()[-1]
    assert quinion("connect", "claude-desktop", "--remove").status == 0
    assert read("claude-desktop") == theirs


def test_user_additions_to_an_entry_are_kept(quinion: Run, desktop: Path) -> None:
    entry = {
        "alwaysAllow": ["search"],
        "command": "/old/bin/quinion",
        "args": ["stdio", "docvec"],
        "env": {"LANG": "de_DE.UTF-8", "QUINION_HOME": "/old/home"},
    }
    desktop.write_text(json.dumps({"mcpServers": {"docvec": entry}}))
    assert quinion("connect", "claude-desktop", "--server", "docvec").status == 0
    after = read("claude-desktop")["mcpServers"]["docvec"]
    assert after["alwaysAllow"] == ["search"]
    assert after["command"] == PROGRAM
    assert after["env"]["LANG"] == "de_DE.UTF-8"
    assert after["env"]["QUINION_HOME"] != "/old/home"


@pytest.mark.parametrize("client", [*WITH_FILES, "claude-code"])
def test_all_five_servers_are_configured_if_the_variables_of_mistral_ocr_are_set(
    quinion: Run, user: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "the-key")
    monkeypatch.setenv("MISTRAL_OCR_ALLOWED_DIR", str(user))
    ended = quinion("connect", client, "--print")
    config = ended.json[find_client(client).key]
    assert list(config) == [*SERVERS, "mistral-ocr"]
    assert config["mistral-ocr"]["args"] == ["stdio", "mistral-ocr"]
    env = config["mistral-ocr"]["env"]
    assert env["MISTRAL_OCR_ALLOWED_DIR"] == str(user)
    assert list(env) == ["MISTRAL_API_KEY", "MISTRAL_OCR_ALLOWED_DIR"]
    assert "the-key" not in ended.out + ended.err


def test_mistral_ocr_is_written_updated_and_removed(
    quinion: Run, desktop: Path, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "the-key")
    monkeypatch.setenv("MISTRAL_OCR_ALLOWED_DIR", str(user))
    monkeypatch.setenv("MISTRAL_SERVER_URL", "http://127.0.0.1:3007")
    assert "MISTRAL_API_KEY" in quinion("connect", "claude-desktop").err
    env = read("claude-desktop")["mcpServers"]["mistral-ocr"]["env"]
    assert env["MISTRAL_API_KEY"] == "the-key"
    assert env["MISTRAL_SERVER_URL"] == "http://127.0.0.1:3007"
    monkeypatch.delenv("MISTRAL_SERVER_URL")
    quinion("connect", "claude-desktop", "--server", "mistral-ocr")
    assert "MISTRAL_SERVER_URL" not in read("claude-desktop")["mcpServers"]["mistral-ocr"]["env"]
    monkeypatch.delenv("MISTRAL_API_KEY")
    assert quinion("connect", "claude-desktop", "--remove").status == 0
    assert read("claude-desktop") == OTHERS


def test_mistral_ocr_without_its_key_is_refused_by_name(quinion: Run, user: Path) -> None:
    ended = quinion("connect", "cursor", "--server", "mistral-ocr")
    assert ended.status == BAD_SETTING
    assert "MISTRAL_API_KEY is not set" in ended.err
    assert list(user.iterdir()) == []


SECRETS = {
    "claude-desktop": ("<your DOCVEC_API_KEY>", "<your REDIS_URL>"),
    "cursor": ("${env:DOCVEC_API_KEY}", "${env:REDIS_URL}"),
    "vscode": ("${input:quinion-docvec-api-key}", "${input:quinion-redis-url}"),
    "claude-code": ("${DOCVEC_API_KEY}", "${REDIS_URL}"),
}


@pytest.mark.parametrize("client", SECRETS)
def test_secrets_are_not_shown(
    quinion: Run, user: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    monkeypatch.setenv("DOCVEC_API_KEY", "the-key")
    monkeypatch.setenv("REDIS_URL", "redis://:pass@host/0")
    monkeypatch.setenv("MCP_API_KEY", "the-token")
    monkeypatch.setenv("DOCVEC_PORT", "4321")
    monkeypatch.setenv("ENABLE_OCR", "false")
    monkeypatch.setenv("QUINION_READ_ROOTS", f"/tmp{os.pathsep}/usr")
    ended = quinion("connect", client, "--print")
    assert "the-key" not in ended.out
    config = ended.json[find_client(client).key]
    docvec, policies = config["docvec"]["env"], config["policy-kb"]["env"]
    assert (docvec["DOCVEC_API_KEY"], policies["REDIS_URL"]) == SECRETS[client]
    assert "DOCVEC_API_KEY" not in policies
    for env in (docvec, policies):
        assert not {"MCP_API_KEY", "DOCVEC_PORT"} & set(env)
        assert env["ENABLE_OCR"] == "false"
        assert env["QUINION_READ_ROOTS"] == f"/tmp{os.pathsep}/usr"
    inputs = ended.json.get("inputs", [])
    assert all(one["password"] for one in inputs)
    asked = {one["id"] for one in inputs}
    wanted = {"quinion-docvec-api-key", "quinion-redis-url"} if client == "vscode" else set()
    assert asked == wanted


def test_secrets_are_written_only_if_unavoidable_and_with_a_warning(
    quinion: Run, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCVEC_API_KEY", "the-key")
    ended = quinion("connect", "claude-desktop", "--json")
    assert "DOCVEC_API_KEY" in ended.err
    assert "the-key" not in ended.out + ended.err
    assert read("claude-desktop")["mcpServers"]["docvec"]["env"]["DOCVEC_API_KEY"] == "the-key"
    assert "environment" in quinion("connect", "cursor").err
    assert "ask" in quinion("connect", "vscode").err
    assert read("vscode")["inputs"]
    quinion("connect", "vscode", "--remove")
    assert read("vscode") == {"servers": {}, "inputs": []}


@pytest.mark.parametrize(
    "content",
    [
        b'{\n  // mine\n  "mcpServers": {}\n}',
        b'{"mcpServers": {},}',
        b'{"mcpServers": {"a": {}, "a": {}}}',
        b"[]",
        b'{"mcpServers": []}',
        b"\xff\xfe{}",
        b'{"a":' * 100_000,
    ],
)
def test_a_file_that_is_not_understood_is_left_as_it_is(
    quinion: Run, desktop: Path, content: bytes
) -> None:
    desktop.write_bytes(content)
    ended = quinion("connect", "claude-desktop")
    assert ended.status == FAILED
    assert desktop.read_bytes() == content
    assert list(desktop.parent.iterdir()) == [desktop]
    assert '"args": [' in ended.err  # for manual configuration
    assert ended.err.splitlines()[-1].startswith("quinion: ")


@pytest.mark.parametrize("content", [b"", b" \n", b"\xef\xbb\xbf{}"])
def test_an_empty_file_is_filled(quinion: Run, desktop: Path, content: bytes) -> None:
    desktop.write_bytes(content)
    assert quinion("connect", "claude-desktop").status == 0
    assert list(read_config(desktop)["mcpServers"]) == SERVERS


def test_a_link_stays_one(quinion: Run, desktop: Path, tmp_path: Path) -> None:
    real = desktop.rename(tmp_path / "dotfiles.json")
    desktop.symlink_to(real)
    assert quinion("connect", "claude-desktop").status == 0
    assert desktop.is_symlink()
    assert "docvec" in json.loads(real.read_text())["mcpServers"]


def test_a_failed_write_is_reported(quinion: Run, user: Path) -> None:
    (user / ".cursor").write_text("a file in the place of the folder")
    assert "cannot be" in quinion("connect", "cursor").err.splitlines()[-1]
    (user / ".cursor").unlink()
    (user / ".cursor" / "mcp.json").mkdir(parents=True)
    ended = quinion("connect", "cursor")
    assert ended.status == FAILED
    assert str(user / ".cursor" / "mcp.json") in ended.err.splitlines()[-1]


@pytest.mark.parametrize(
    "arguments",
    [
        ("emacs",),
        ("cursor", "--server", "gopher"),
        ("--http",),
        ("claude-desktop", "--http"),
        ("claude-desktop", "--project", "."),
        ("cursor", "--project", "/no/such/folder"),
        ("cursor", "--remove", "--print"),
        ("n8n", "--remove"),
    ],
)
def test_wrong_use_is_refused(quinion: Run, user: Path, arguments: tuple[str, ...]) -> None:
    ended = quinion("connect", *arguments)
    assert ended.status == WRONG_USE, ended
    assert list(user.iterdir()) == []


def test_without_a_home_folder_nothing_is_guessed(
    quinion: Run, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "")
    ended = quinion("connect", "cursor")
    assert ended.status == BAD_SETTING
    assert "HOME" in ended.err


@pytest.mark.parametrize(
    ("client", "file"),
    [
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
    ],
)
def test_a_project_has_its_own_file(
    quinion: Run, user: Path, tmp_path: Path, client: str, file: str
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    assert quinion("connect", client, "--project", str(project)).status == 0
    config = json.loads((project / file).read_text())
    assert list(config[find_client(client).key]) == SERVERS
    assert list(user.iterdir()) == []


def test_claude_code_is_configured_by_its_own_program(
    quinion: Run, user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(CLAUDE.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    file = user / ".claude.json"
    theirs = {"projects": {"/a": {}}, "mcpServers": {"files": {"command": "npx"}}}
    file.write_text(json.dumps(theirs))
    ended = quinion("connect", "claude-code", "--json")
    assert ended.status == 0, ended.err
    assert json.loads(Path(ended.json["backup"]).read_text()) == theirs
    config = read("claude-code")
    assert config["projects"] == theirs["projects"]
    assert list(config["mcpServers"]) == ["files", *SERVERS]
    assert config["mcpServers"]["docvec"]["type"] == "stdio"
    assert quinion("connect", "claude-code", "--json").json["changed"] is False
    monkeypatch.setenv("ENABLE_OCR", "false")
    assert quinion("connect", "claude-code", "--json").json["changed"] is True
    assert read("claude-code")["mcpServers"]["docvec"]["env"]["ENABLE_OCR"] == "false"
    assert quinion("connect", "claude-code", "--remove").status == 0
    assert read("claude-code") == theirs


def test_without_claudes_program_the_commands_are_printed(quinion: Run, user: Path) -> None:
    ended = quinion("connect", "claude-code", "--server", "docvec")
    assert ended.status == 0
    assert "claude mcp add-json --scope user docvec '{" in ended.out
    assert list(user.iterdir()) == []


@pytest.mark.usefixtures("served")
def test_addresses_of_a_running_serve_are_written(
    quinion: Run, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert quinion("connect", "cursor", "--http").status == 0
    url = "http://127.0.0.1:4002/mcp"
    assert read("cursor")["mcpServers"]["document-store"] == {"url": url}
    assert list(read("cursor")["mcpServers"]) == ["document-store", "docvec"]
    monkeypatch.setenv("MCP_API_KEY", "the-token")
    for client, token in (
        ("cursor", "${env:MCP_API_KEY}"),
        ("vscode", "${input:quinion-mcp-api-key}"),
    ):
        assert quinion("connect", client, "--http", "--server", "document-store").status == 0
        entry = read(client)[find_client(client).key]["document-store"]
        assert entry["url"] == url
        assert entry["headers"] == {"Authorization": f"Bearer {token}"}
        assert "the-token" not in find_client(client).file(None).read_text()
    assert entry["type"] == "http"
    assert quinion("connect", "cursor", "--http", "--server", "policy-kb").status == FAILED
    # Back to starting a process.
    assert quinion("connect", "cursor", "--server", "document-store").status == 0
    assert set(read("cursor")["mcpServers"]["document-store"]) == {"command", "args", "env"}


@pytest.mark.usefixtures("served", "user")
def test_n8n_users_are_shown_the_values_to_enter(
    quinion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = quinion("connect", "n8n")
    assert ended.status == 0
    for text in ("MCP Client Tool", "http://127.0.0.1:4004/mcp", "HTTP Streamable", "None"):
        assert text in ended.out
    monkeypatch.setenv("MCP_API_KEY", "the-token")
    ended = quinion("connect", "n8n")
    assert "Bearer Auth" in ended.out
    assert "the-token" not in ended.out


@pytest.mark.usefixtures("user")
def test_without_a_running_serve_there_is_no_address(quinion: Run) -> None:
    ended = quinion("connect", "cursor", "--http")
    assert ended.status == FAILED
    assert "quinion serve" in ended.err


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
TRANSPORT = StdioTransport(
    "/bin/quinion", ["stdio", "docvec"], {"DOCVEC_API_KEY": "x"}, frozenset({"REDIS_URL"})
)


@pytest.mark.slow
@given(
    st.dictionaries(st.text(), json_values),
    st.dictionaries(st.text(), st.dictionaries(st.text(), json_values)),
    st.sampled_from(WITH_FILES),
)
def test_added_entries_can_be_removed(
    config: dict[str, Any], servers: dict[str, Any], name: str
) -> None:
    client = find_client(name)
    config = {key: value for key, value in config.items() if key != "inputs"}
    config[client.key] = {key: value for key, value in servers.items() if key != "docvec"}
    added = add_servers(client, config, {"docvec": TRANSPORT})
    assert added[client.key]["docvec"]["args"] == TRANSPORT.args
    removed = remove_servers(client, added, ["docvec"])
    assert removed == config
    assert list(removed) == list(config)


@pytest.mark.slow
@given(st.dictionaries(st.text(), json_values), st.dictionaries(st.text(), json_values))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_written_entries_can_be_read_back(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any]
) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(before))
    backup = change_config(file, after)
    assert read_config(file) == after
    assert backup is not None
    assert read_config(backup) == before
    backup.unlink()
