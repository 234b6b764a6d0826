"""Path matrix: every tool with a path parameter, with every kind of forbidden path.

A file outside the read roots is answered exactly like a missing one; anything other than a file is
refused; nothing blocks; and no answer contains a byte from outside.
"""

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path

import httpx2
import pytest

from quinion.model.policy import PolicyCategory, PolicyDraft, RevisionDraft
from quinion.store.policies import open_registry
from tests.contract.conftest import NewHome
from tests.contract.process import plain_client
from tests.documents import text_pdf
from tests.doors.asking import Answer, call, call_as_command, text_of
from tests.doors.house import (
    DOCLIBRARY,
    DOCUMENT_STORE,
    DOCVEC,
    MISTRAL_OCR,
    POLICY_KB,
    House,
    open_house,
    unexpected,
)

SECRET = "The combination of the safe is ninety-one, seventeen, four."
NAME = "secret.pdf"
ROUNDS = 3
SWAPS = 40
"""Enough to detect it: when files were opened by name, every tool revealed the secret."""
MOMENT_S = 0.002
PATIENCE_S = 30.0
"""Maximum seconds of a call; detects calls that block."""


@dataclass(frozen=True)
class Ground:
    """A read root, files beside it, and servers that may only read the root."""

    root: Path
    outside: Path
    allowed: Path
    house: House


@dataclass(frozen=True)
class PathTool:
    """A tool, its arguments around a path, and its contract's error for a missing file."""

    server: str
    name: str
    arguments: Callable[[str, Ground], Answer]
    is_missing: Callable[[Answer], bool]


def _status(result: Answer) -> bool:
    answer = result["structuredContent"]
    return (answer["status"], answer["error_type"]) == ("error", "file_not_found")


def _code(result: Answer) -> bool:
    answer = result["structuredContent"]
    return (answer["success"], answer["error_code"]) == (False, "FILE_NOT_FOUND")


def _words(result: Answer) -> bool:
    return text_of(result).startswith("Error: File not found: ")


def _tool_error(result: Answer) -> bool:
    return bool(result["isError"]) and text_of(result).startswith("File not found: ")


TOOLS = [
    PathTool(
        DOCUMENT_STORE,
        "ingest_document",
        lambda path, _: {"file_path": path, "application_ref": "A/1"},
        _status,
    ),
    PathTool(
        POLICY_KB,
        "ingest_policy_revision",
        lambda path, _: {"source": "DOORS", "revision_id": "rev_DOORS", "file_path": path},
        _status,
    ),
    PathTool(DOCVEC, "index_file", lambda path, _: {"file_path": path}, _code),
    PathTool(DOCVEC, "index_directory", lambda path, _: {"dir_path": path}, _code),
    PathTool(DOCLIBRARY, "add_document", lambda path, _: {"file_path": path}, _words),
    PathTool(MISTRAL_OCR, "extract_markdown", lambda path, _: {"file_path": path}, _tool_error),
    PathTool(
        MISTRAL_OCR,
        "extract_markdown_with_images",
        lambda path, ground: {"file_path": path, "output_dir": str(ground.allowed)},
        _tool_error,
    ),
]

MISSING = "{root}/missing.pdf"
OUTSIDE: dict[str, str] = {
    "beside": "{outside}/secret.pdf",
    "dots": "{root}/../outside/secret.pdf",
    "dots through a folder": "{root}/folder/../../outside/secret.pdf",
    "dots at the end": "{root}/folder/../../outside/secret.pdf/.",
    "slashes": "//{root}///..//outside//secret.pdf",
    "a name that only begins alike": "{root}-too/secret.pdf",
    "a link": "{root}/link.pdf",
    "a link to a link": "{root}/link to link.pdf",
    "a relative link": "{root}/relative.pdf",
    "a linked parent": "{root}/linked/secret.pdf",
    "dots behind a linked parent": "{root}/linked/../outside/secret.pdf",
    "a link that dangles outside": "{root}/dangling.pdf",
    "a device": "/dev/zero",
    "another device": "/dev/stdin",
    "a device by a link": "{root}/zero.pdf",
    "a terminal by a link": "{root}/stdin.pdf",
    "processes": "/proc/self/environ",
    "processes by a link": "{root}/environ.pdf",
    "a process's folder": "/proc/self/cwd/pyproject.toml",
    "a process's handle": "/proc/self/fd/0",
    "a process's root": "/proc/self/root{outside}/secret.pdf",
    "memory": "/proc/self/mem",
    "passwords": "/etc/shadow",
    "a pipe outside": "{outside}/pipe.pdf",
    "a folder outside": "{outside}",
    "the root of all": "/",
    "nothing outside": "{outside}/nothing.pdf",
    "nothing in a closed folder": "/root/nothing.pdf",
}
"""Paths that lead outside, or nowhere."""

NOWHERE: dict[str, str] = {
    "a link that dangles": "{root}/dangling inside.pdf",
    "a link to itself": "{root}/loop.pdf",
    "a ring of links": "{root}/ring a.pdf",
    "behind what is not there": "{root}/nothing/x.pdf",
    "a NUL": "{root}/well.pdf\0.txt",
    "a NUL before the end": "{root}/well\0.pdf",
    "a long name": "{root}/" + "x" * 300 + ".pdf",
    "a long path": "{root}" + "/x" * 1900 + ".pdf",
    "line breaks": "{root}/a\nb\r\n.pdf",
    "half a character": "{root}/\ud800.pdf",
    "bytes that are no text": "{root}/\udcff.pdf",
    "a formatting mark": "{root}/%s%n.pdf",
    "right to left": "{root}/\u202efdp.exe",
    "look-alike slashes": "{root}／..／outside／secret.pdf",
    "an address": "file://{outside}/secret.pdf",
    "a home": "~root/secret.pdf",
    "a variable": "$HOME/secret.pdf",
    "relative": "secret.pdf",
    "relative dots": "../outside/secret.pdf",
    "nothing": "",
    "a blank": " ",
    "a dot": ".",
}
"""Invalid paths, and paths without a file inside the root."""

NO_FILE: dict[str, str] = {
    "a pipe": "{root}/pipe.pdf",
    "a socket": "{root}/socket.pdf",
    "a folder": "{root}/folder.pdf",
    "the root": "{root}",
}
"""Existing paths that are not files. `index_directory` accepts a folder."""


@pytest.fixture(scope="module")
def ground(new_home: NewHome) -> Iterator[Ground]:
    home = new_home()
    root, outside = home.files / "root", home.files / "outside"
    for folder in (root / "folder", root / "folder.pdf", outside, home.files / "root-too"):
        folder.mkdir(parents=True)
    for place in (outside, home.files / "root-too"):
        text_pdf(place / "secret.pdf", SECRET)
        (place / "secret.md").write_text(f"# A secret\n\n{SECRET}\n")
    text_pdf(root / "well.pdf", "What everybody may read, in a sentence that is long enough.")
    _plant(root, outside)
    registry = open_registry(home.path / "policies.db", None)
    registry.create_policy(PolicyDraft("DOORS", "Doors", PolicyCategory.LOCAL_GUIDANCE))
    registry.create_revision("DOORS", RevisionDraft("First", date(2020, 1, 1), None, "rev_DOORS"))
    registry.close()
    with open_house(home, {"QUINION_READ_ROOTS": str(root)}) as house:
        yield Ground(root, outside, home.files / "allowed", house)


def _plant(root: Path, outside: Path) -> None:
    """Create links and special files, like an attacker with access to the root."""
    links: dict[str, str | Path] = {
        "link.pdf": outside / "secret.pdf",
        "link to link.pdf": "link.pdf",
        "relative.pdf": "../outside/secret.pdf",
        "linked": outside,
        "dangling.pdf": outside / "nothing.pdf",
        "dangling inside.pdf": root / "nothing.pdf",
        "loop.pdf": "loop.pdf",
        "ring a.pdf": "ring b.pdf",
        "ring b.pdf": "ring a.pdf",
        "zero.pdf": "/dev/zero",
        "stdin.pdf": "/dev/stdin",
        "environ.pdf": "/proc/self/environ",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    for pipe in (root / "pipe.pdf", outside / "pipe.pdf"):
        os.mkfifo(pipe)
    with suppress(PermissionError):  # not every system permits this
        os.mknod(root / "socket.pdf", 0o600 | stat.S_IFSOCK)


@pytest.fixture(scope="module")
def client() -> Iterator[httpx2.Client]:
    with plain_client() as client:
        client.timeout = httpx2.Timeout(PATIENCE_S)
        yield client


def ask(client: httpx2.Client, ground: Ground, tool: PathTool, path: str) -> Answer:
    """Call a tool with a path; the answer must contain neither the secret nor a server error."""
    server = ground.house[tool.server]
    before = len(server.log)
    arguments = tool.arguments(path, ground)
    if tool.server == DOCLIBRARY:
        result = call_as_command(server, DOCLIBRARY, tool.name, arguments)
    else:
        result = call(client, server, tool.name, arguments)
    assert "combination" not in str(result)
    assert "unexpectedly" not in text_of(result), result
    assert not unexpected(server.log[before:])
    return result


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_what_lies_outside_is_answered_like_what_is_not_there(
    ground: Ground, client: httpx2.Client, tool: PathTool
) -> None:
    def worded(path: str) -> str:
        result = ask(client, ground, tool, path)
        assert tool.is_missing(result), (path, result)
        return text_of(result).replace(path, "…").replace(os.path.normpath(path), "…")

    usual = worded(MISSING.format(root=ground.root))
    for what, pattern in OUTSIDE.items():
        path = pattern.format(root=ground.root, outside=ground.outside)
        assert worded(path) == usual, what


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_what_is_no_path_is_refused(ground: Ground, client: httpx2.Client, tool: PathTool) -> None:
    for what, pattern in NOWHERE.items():
        path = pattern.format(root=ground.root, outside=ground.outside)
        if tool.server == DOCLIBRARY and any("\ud800" <= one <= "\udfff" for one in path):
            continue  # a command cannot send it
        result = ask(client, ground, tool, path)
        said = text_of(result)
        is_none = "must be an absolute path" in said or "valid string" in said
        assert is_none or tool.is_missing(result), (what, result)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_what_is_no_file_is_refused_and_blocks_nothing(
    ground: Ground, client: httpx2.Client, tool: PathTool
) -> None:
    for what, pattern in NO_FILE.items():
        path = pattern.format(root=ground.root)
        if tool.name == "index_directory" and Path(path).is_dir():
            continue
        said = text_of(ask(client, ground, tool, path))
        assert any(words in said for words in ("ot found", "Not a ")), (what, said)


def test_a_folder_with_links_to_outside_is_indexed_without_what_they_lead_to(
    ground: Ground, client: httpx2.Client
) -> None:
    docvec = ground.house[DOCVEC]
    data = call(client, docvec, "index_directory", {"dir_path": str(ground.root)})
    answer = data["structuredContent"]["data"]
    assert answer["new_documents"] == 1
    assert all(error["error_code"] == "FILE_NOT_FOUND" for error in answer["errors"]), answer
    found = call(client, docvec, "search", {"query": SECRET})
    assert "combination" not in str(found["structuredContent"]["data"]["results"])


@contextmanager
def repeated(swap: Callable[[], None]) -> Iterator[None]:
    """Repeat an action in a thread as fast as possible."""
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            swap()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def turn_link(name: Path, *targets: Path) -> None:
    """Point a link to one target after the other."""
    other = name.with_name(f"{name.name}.new")
    for target in targets:
        other.symlink_to(target)
        other.replace(name)


def swap_folder(name: Path, target: Path) -> None:
    """Replace a folder by a link for a moment."""
    aside = name.with_name(f"{name.name}.aside")
    name.rename(aside)
    name.symlink_to(target)
    time.sleep(MOMENT_S)
    name.unlink()
    aside.rename(name)
    time.sleep(MOMENT_S)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_link_that_turns_all_the_time_shows_nothing_of_outside(
    ground: Ground, client: httpx2.Client, tool: PathTool
) -> None:
    """The link is the file itself, or its folder."""
    root, outside = ground.root, ground.outside
    by_file, by_folder = root / "turned.pdf", root / "turned"
    for number in range(ROUNDS):
        inside = _write_letter(root, tool, number)
        turn_link(by_file, inside / NAME)
        turn_link(by_folder, inside)
        with (
            repeated(partial(turn_link, by_file, outside / NAME, inside / NAME)),
            repeated(partial(turn_link, by_folder, outside, inside)),
        ):
            for path in (by_file, by_folder / NAME):
                ask(client, ground, tool, str(path))
            if tool.name == "index_directory":
                ask(client, ground, tool, str(by_folder))
    _check_nothing_is_found(ground, client)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_link_in_the_place_of_a_folder_shows_nothing_of_outside(
    ground: Ground, client: httpx2.Client, tool: PathTool
) -> None:
    for number in range(SWAPS):
        inside = _write_letter(ground.root, tool, number)
        with repeated(partial(swap_folder, inside, ground.outside)):
            ask(client, ground, tool, str(inside / NAME))
    _check_nothing_is_found(ground, client)


def _write_letter(root: Path, tool: PathTool, number: int) -> Path:
    """Create a folder with a file of new content, because known content is not read again."""
    folder = root / f"{tool.name} {number}"
    folder.mkdir(exist_ok=True)
    text_pdf(folder / NAME, f"Letter {number} to the {tool.name}, about the weather.")
    return folder


def _check_nothing_is_found(ground: Ground, client: httpx2.Client) -> None:
    for server, name in (
        (DOCUMENT_STORE, "search_application_docs"),
        (POLICY_KB, "search_policy"),
        (DOCVEC, "search"),
        (DOCLIBRARY, "search_documents"),
    ):
        found = call(client, ground.house[server], name, {"query": SECRET})["structuredContent"]
        results = found.get("data", found)["results"]
        assert "combination" not in str(results), name


OUTPUTS: dict[str, str] = {
    **{what: path for what, path in OUTSIDE.items() if what != "nothing in a closed folder"},
    **NOWHERE,
    "a pipe": "{allowed}/pipe",
    "a file": "{allowed}/file",
    "a link to outside": "{allowed}/link",
    "dots to outside": "{allowed}/../outside",
    "dots behind a link": "{allowed}/link/../outside",
    "a loop": "{allowed}/loop",
}


def test_nothing_is_written_outside_of_the_allowed_folder(
    ground: Ground, client: httpx2.Client
) -> None:
    allowed = ground.allowed
    (allowed / "link").symlink_to(ground.outside)
    (allowed / "loop").symlink_to("loop")
    (allowed / "file").touch()
    os.mkfifo(allowed / "pipe")
    before = _picture(ground.root.parent)
    server = ground.house[MISTRAL_OCR]
    for what, pattern in OUTPUTS.items():
        given = pattern.format(root=ground.root, outside=ground.outside, allowed=allowed)
        arguments = {"file_path": str(ground.root / "well.pdf"), "output_dir": given}
        result = call(client, server, "extract_markdown_with_images", arguments)
        assert result["isError"], (what, result)
        said = text_of(result)
        assert "output_dir" in said or given in said, (what, said)
        assert "unexpectedly" not in said, (what, said)
    assert _picture(ground.root.parent) == before


def _picture(folder: Path) -> set[tuple[str, int]]:
    """List everything except logs and the servers' data."""
    return {
        (str(path), path.lstat().st_ino)
        for place in ("root", "outside", "allowed", "root-too")
        for path in (folder / place).rglob("*")
    }
