"""Secrets: keys, tokens and passwords occur in no file, log or answer of a full run.

Two runs with all logs at the most verbose level: one with working services, and one in which every
service that needs a secret fails, because secrets often leak through failures.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from tests.contract.conftest import NewHome
from tests.contract.endpoints import INITIALIZE, JSON_RPC
from tests.contract.process import SCRIPTS, Home, Variables, free_port, plain_client
from tests.documents import PROSE, text_pdf
from tests.doors import asking
from tests.doors.house import (
    DOCLIBRARY,
    DOCUMENT_STORE,
    DOCVEC,
    MCP_SERVERS,
    MISTRAL_OCR,
    POLICY_KB,
    TOKEN,
    House,
    open_house,
)
from tests.json_server import Handler
from tests.ollama_server import MODEL, ollama_server
from tests.redis_server import PROGRAM
from tests.vision_server import vision_server

SECRETS = {
    "MCP_API_KEY": TOKEN,
    "MISTRAL_API_KEY": "sk-mistral-3f9a11c0de",
    "DOCVEC_API_KEY": "sk-embed-77aa01beef",
    "DOCLIBRARY_VISION_API_KEY": "sk-vision-5512fadeaa",
    "DOCVEC_HOST": "hushembed8811",
    "DOCLIBRARY_VISION_URL": "hushvision8822",
    "REDIS_URL": "hushredis8833",
    "CHROMA_URL": "hushchroma8844",
    "QUINION_DATABASE_URL": "hushdatabase8855",
}
BAD_SETTING = 3
TALKATIVE = """
import logging
logging.root.setLevel(logging.DEBUG)
logging.Logger.setLevel = lambda self, level: None
"""
"""Logs everything, regardless of the levels that a program sets."""


def with_password(address: str, name: str, user: str = "user") -> str:
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{user}:{SECRETS[name]}@{rest}"


def say_all_back(handler: Handler, _: object, asked: object) -> None:
    """Refuse and echo the request, as some servers do."""
    handler.reply(401, {"error": {"message": f"Wrong: {dict(handler.headers)}"}})


@pytest.fixture(params=["all is well", "nothing works"])
def run(
    request: pytest.FixtureRequest, new_home: NewHome, tmp_path: Path
) -> Iterator[tuple[Home, House, dict[str, str | None]]]:
    """Servers with secrets, and their environment."""
    (tmp_path / "sitecustomize.py").write_text(TALKATIVE)
    home = new_home()
    with ExitStack() as stack:
        ollama = stack.enter_context(ollama_server())
        vision = stack.enter_context(vision_server())
        variables: dict[str, str | None] = {
            "PYTHONPATH": str(tmp_path),
            "PYTHONUNBUFFERED": "1",
            "DOCVEC_BACKEND": "openai",
            "DOCVEC_MODEL": MODEL,
            "DOCVEC_API_KEY": SECRETS["DOCVEC_API_KEY"],
            "DOCVEC_DB_PATH": str(home.files / "docvec"),
            "DOCLIBRARY_VISION_MODEL": "vision",
            "DOCLIBRARY_VISION_API_KEY": SECRETS["DOCLIBRARY_VISION_API_KEY"],
            "DOCVEC_HOST": ollama.url,
            "DOCLIBRARY_VISION_URL": vision.url,
        }
        if request.param == "nothing works":
            closed = free_port()
            ollama.always = vision.always = say_all_back
            variables |= {
                "MISTRAL_API_KEY": SECRETS["MISTRAL_API_KEY"],
                "DOCVEC_HOST": with_password(ollama.url, "DOCVEC_HOST"),
                "DOCLIBRARY_VISION_URL": with_password(vision.url, "DOCLIBRARY_VISION_URL"),
                "REDIS_URL": with_password(f"redis://127.0.0.1:{closed}/0", "REDIS_URL"),
                "CHROMA_URL": f"http://127.0.0.1:{closed}",
            }
        elif PROGRAM:
            variables["REDIS_URL"] = stack.enter_context(_locked_redis(tmp_path))
        house = stack.enter_context(open_house(home, variables, quiet=False))
        yield home, house, variables


@contextmanager
def _locked_redis(folder: Path) -> Iterator[str]:
    """Start a Redis with a password; yields its address with the password."""
    assert PROGRAM
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    command = [PROGRAM, *options, "--requirepass", SECRETS["REDIS_URL"]]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            yield with_password(f"redis://127.0.0.1:{port}/0", "REDIS_URL", user="")
        finally:
            process.kill()


def calls(folder: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """Valid and invalid calls."""
    file = str(text_pdf(folder / "letter.pdf", PROSE))
    (folder / "note.md").write_text(f"# A note\n\n{PROSE}\n")
    query = {"query": "the weather"}
    ref = {"application_ref": "A/1"}
    return [
        (DOCUMENT_STORE, "ingest_document", {"file_path": file, **ref}),
        (DOCUMENT_STORE, "ingest_document", {"file_path": "/nowhere.pdf", **ref}),
        (DOCUMENT_STORE, "search_application_docs", query),
        (DOCUMENT_STORE, "get_document_text", {"document_id": TOKEN[:3]}),
        (DOCUMENT_STORE, "list_ingested_documents", ref),
        (POLICY_KB, "list_policy_documents", {}),
        (POLICY_KB, "search_policy", query),
        (POLICY_KB, "list_policy_revisions", {"source": "NONE"}),
        (DOCVEC, "index_file", {"file_path": str(folder / "note.md")}),
        (DOCVEC, "index_directory", {"dir_path": str(folder)}),
        (DOCVEC, "search", query),
        (DOCVEC, "get_index_stats", {}),
        (DOCLIBRARY, "add_document", {"file_path": file}),
        (DOCLIBRARY, "enrich_document", {"document_slug": "letter"}),
        (DOCLIBRARY, "search_documents", query),
        (DOCLIBRARY, "get_library_status", {}),
        (MISTRAL_OCR, "extract_markdown", {"file_path": file}),
        (MISTRAL_OCR, "extract_markdown", {"file_path": "/nowhere.pdf"}),
    ]


@pytest.mark.timeout(300)
def test_no_secret_is_in_anything_that_is_written_or_said(
    run: tuple[Home, House, dict[str, str | None]], tmp_path: Path
) -> None:
    home, house, variables = run
    folder = home.files / "documents"
    folder.mkdir()
    said: dict[str, str] = {}
    with plain_client() as client:
        client.timeout = httpx2.Timeout(120)
        for server, tool, arguments in calls(folder):
            if tool in ("add_document", "enrich_document"):
                body = asking.call_as_command(house[server], server, tool, arguments)
                said[f"{server} {tool}"] = str(body)
                continue
            body = asking.ask(
                client,
                house[server],
                "tools/call",
                {"name": tool, "arguments": arguments},
                {"Mcp-Name": tool},
            )
            said[f"{server} {tool} {sorted(arguments)}"] = str(body)
        for name in MCP_SERVERS:
            _knock(client, house, name)
    for command in (["doctor"], ["doctor", "--json"], ["verify"], ["verify", "--json"]):
        ended = _run(home, {**variables, "MCP_API_KEY": TOKEN}, *command)
        said[f"quinion {' '.join(command)}"] = ended.stdout + ended.stderr
    said["arguments of processes"] = _command_lines(house)
    assert "DEBUG" in house[DOCUMENT_STORE].log, "the logs are not at their most talkative"
    leaks = {
        (name, where): text[max(place - 100, 0) : place + 60]
        for where, text in {**said, **_written(home.files)}.items()
        for name, secret in SECRETS.items()
        if (place := text.find(secret)) >= 0
    }
    assert sorted(leaks) == [], leaks


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("CHROMA_URL", f"http://user:{SECRETS['CHROMA_URL']}@localhost:8000"),
        ("CHROMA_URL", f"ftp://user:{SECRETS['CHROMA_URL']}@localhost:8000"),
        ("REDIS_URL", f"http://:{SECRETS['REDIS_URL']}@localhost"),
        ("QUINION_DATABASE_URL", f"mysql://u:{SECRETS['QUINION_DATABASE_URL']}@localhost"),
        (
            "QUINION_DATABASE_URL",
            f"postgresql://u:{SECRETS['QUINION_DATABASE_URL']}@localhost/d?nothing=1",
        ),
        ("DOCVEC_HOST", f"ftp://user:{SECRETS['DOCVEC_HOST']}@localhost"),
        ("DOCLIBRARY_VISION_URL", f"user:{SECRETS['DOCLIBRARY_VISION_URL']}@localhost"),
    ],
)
def test_a_setting_that_is_refused_is_named_and_not_shown(
    new_home: NewHome, variable: str, value: str
) -> None:
    ended = _run(new_home(), {variable: value}, "serve")
    assert ended.returncode == BAD_SETTING
    assert variable in ended.stderr
    assert SECRETS[variable] not in ended.stderr + ended.stdout


def _knock(client: httpx2.Client, house: House, name: str) -> None:
    """Send requests with the token, with half of it, and without one."""
    for token in (TOKEN, TOKEN[:-1], TOKEN.upper()):
        for path in ("/mcp", f"/mcp?token={TOKEN[:-1]}", "/messages/"):
            headers = {**JSON_RPC, "Authorization": f"Bearer {token}"}
            client.post(house[name].address + path, headers=headers, content=INITIALIZE)


def _run(home: Home, variables: Variables, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(SCRIPTS / "quinion"), *arguments],
        env=home.environment(variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


def _written(folder: Path) -> Mapping[str, str]:
    """Read every file below the folder as text."""
    files = [Path(place, name) for place, _, names in os.walk(folder) for name in names]
    return {
        str(path): path.read_bytes().decode("latin-1")
        for path in files
        if path.is_file() and not path.is_symlink()
    }


def _command_lines(house: House) -> str:
    """Return the command lines of all processes, which every user of the machine can read."""
    processes = {server.process.pid for server in house.values()}
    found = [psutil.Process(pid) for pid in processes]
    found += [child for process in found for child in process.children(recursive=True)]
    return "\n".join(" ".join(process.cmdline()) for process in found)
