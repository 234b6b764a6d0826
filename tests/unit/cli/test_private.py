"""File permissions: only the owner can read any file that a full run leaves in a home."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from quinion.cli.server_client import call, connect
from quinion.daemon.client import attach, stop_engine
from quinion.settings import Settings
from tests.element_documents import Paper
from tests.unit.cli.conftest import Run

REVISION = {"source": "NPPF", "revision_id": "rev_NPPF_2024_12"}


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    """Set the usual umask, with which new files are readable by all users."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def find_readable(folder: Path) -> list[str]:
    """List the files that other users may read, write or enter, with their modes."""
    return [
        f"{stat.S_IMODE(path.lstat().st_mode):o} {path.relative_to(folder.parent)}"
        for path in (folder, *folder.rglob("*"))
        if not path.is_symlink() and path.lstat().st_mode & 0o077
    ]


async def use_everything(settings: Settings, folder: Path) -> None:
    """Make each server write every kind of file."""
    (folder / "notes.md").write_text("# Notes\n\nOne text.\n")
    letter = folder / "Letter.pdf"
    with Paper(letter) as paper:
        paper.prose(60, 20)

    async def ask(server: str, tool: str, **arguments: Any) -> None:
        async with connect(settings, server) as client:
            answer = await call(client, tool, arguments)
            assert not answer.get("error"), answer
            assert answer.get("status") != "error", answer

    await ask("document-store", "ingest_document", application_ref="A", file_path=str(letter))
    await ask("docvec", "index_file", file_path=str(folder / "notes.md"))
    await ask("doclibrary", "add_document", file_path=str(letter))
    async with connect(settings, "doclibrary") as client:  # the picture is cached
        arguments = {"document_slug": "letter", "page_number": 1}
        assert not (await client.call_tool("get_page_image", arguments)).is_error
    await ask("policy-kb", "ingest_policy_revision", **REVISION, file_path=str(letter))
    await ask("document-store", "back_up")
    await ask("document-store", "verify", repair=True)  # creates the mirror's files


@pytest.mark.slow
@pytest.mark.parametrize("is_new", [True, False])
def test_only_the_owner_can_read_the_files_of_a_full_run(
    home: Path, quinion: Run, tmp_path: Path, is_new: bool
) -> None:
    if not is_new:
        (home / "library" / "originals").mkdir(parents=True)
        for name in ("policies.db", "library/originals/one"):
            (home / name).touch(mode=0o644)
        assert len(find_readable(home)) == 5
    for command in (
        ["create", "NPPF", "--title", "A Framework", "--category", "national_policy"],
        ["revise", "NPPF", "--label", "2024", "--from", "2024-12-12"],
    ):
        ended = quinion("policy", *command)
        assert ended.status == 0, ended
    settings = Settings.from_environment()
    with attach(settings, "docvec"):  # it keeps an engine in the background
        anyio.run(use_everything, settings, tmp_path)
        there = {str(path.relative_to(home)) for path in home.rglob("*")}
        assert find_readable(home) == []
    assert {
        *("engine.lock", "engine.log", "engine.sock", "policies.db", "policies.db-wal"),
        *("store/store.db", "store/store.db-wal", "store/1.vectors"),
        *("chroma/chroma.sqlite3", "backups", "originals", "words", "pictures"),
    } <= there
    assert any(name.startswith("backups/quinion-") for name in there)
    stop_engine(home)
    assert find_readable(home) == []
    assert quinion("backup", str(tmp_path / "backup.tar")).status == 0
    assert find_readable(tmp_path / "backup.tar") == []
    for command in (["rebuild"], ["verify"], ["doctor"]):
        quinion(*command)
    assert find_readable(home) == []


@pytest.mark.slow
def test_only_the_owner_reads_a_restored_home(
    filled: Path, quinion: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert quinion("backup", str(tmp_path / "backup.tar")).status == 0
    for name in ("restored", "volume"):
        (tmp_path / name).mkdir(mode=0o755)
    monkeypatch.setenv("QUINION_HOME", str(tmp_path / "restored"))
    monkeypatch.setenv("CHROMA_PERSIST_DIR", str(tmp_path / "volume"))
    assert quinion("restore", str(tmp_path / "backup.tar")).status == 0
    assert quinion("verify", "--repair").status == 0
    assert find_readable(tmp_path / "restored") == []
    assert find_readable(tmp_path / "volume") == ["755 volume"]  # not created by quinion
