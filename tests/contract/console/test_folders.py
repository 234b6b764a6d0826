"""Folders in the console."""

import time
from pathlib import Path
from typing import Any

from tests.contract.conftest import NewHome
from tests.contract.console.conftest import Console, open_console
from tests.contract.local import Shared

PATIENCE_S = 60


def index(console: Console, folder: Path) -> Any:
    """Index a folder, and return the job when it has ended."""
    assert console.post("/folders/index", data={"folder": str(folder)}).status_code == 202
    ends = time.monotonic() + PATIENCE_S
    while (job := console.json("/jobs")["jobs"][0])["state"] in {"waiting", "running"}:
        assert time.monotonic() < ends
    return job


def states(shown: Any) -> dict[str, str]:
    return {one["name"]: one["state"] for one in shown["shown"]}


def until(console: Console, wanted: dict[str, str]) -> None:
    """Wait for these states."""
    ends = time.monotonic() + PATIENCE_S
    while (found := states(console.json("/folders"))) != wanted:
        assert time.monotonic() < ends, found


def test_folders_have_their_files_with_states(locked: Console) -> None:
    locked.enter()
    assert "No folder is indexed" in locked.page("/folders")
    folder = locked.home.files / "notes"
    folder.mkdir()
    for name in ("a.md", "b.md"):
        (folder / name).write_text(f"# {name}\n\nText of {name}.\n")
    job = index(locked, folder)
    assert job["message"] == "2 indexed, 0 unchanged, 0 failed."
    (folder / "b.md").unlink()
    shown = locked.json("/folders")
    assert states(shown) == {"a.md": "indexed", "b.md": "vanished"}
    assert [one["files"] for one in shown["folders"]] == [2]
    assert locked.json("/folders?folder=/elsewhere")["shown"] == []
    assert locked.json("/folders/vanished") == {"vanished": [str(folder / "b.md")]}
    assert "Remove it from the index" in locked.page("/folders/vanished")
    assert locked.post("/folders/prune").json() == {"removed": [str(folder / "b.md")]}
    assert locked.json("/folders")["files"] == 1
    assert "All indexed files are on the disk" in locked.page("/folders/vanished")


def test_changed_and_failed_files_are_shown_with_the_reason(locked: Console) -> None:
    locked.enter()
    folder = locked.home.files / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nText.\n")
    (folder / "same.md").write_text("# B\n\nOther text.\n")
    (folder / "broken.pdf").write_bytes(b"no document")
    index(locked, folder)
    (folder / "a.md").write_text("# A\n\nOther words.\n")
    (folder / "same.md").touch()  # later, but with the same content
    shown = locked.json("/folders")
    assert states(shown) == {"broken.pdf": "failed", "a.md": "changed", "same.md": "indexed"}
    [reason] = [one["reason"] for one in shown["shown"] if one["state"] == "failed"]
    assert reason in locked.page("/folders").replace("&#39;", "'")
    (folder / "broken.pdf").unlink()
    index(locked, folder)
    assert states(locked.json("/folders"))["a.md"] == "indexed"


def test_a_watched_folder_is_indexed_as_it_changes_also_after_a_restart(
    shared: Shared, new_home: NewHome
) -> None:
    home = new_home()
    folder = home.files / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nText.\n")
    with open_console(shared, home) as console:
        console.enter()
        assert console.post("/folders/watch", data={"folder": "/nowhere"}).status_code == 400
        answer = console.post("/folders/watch", data={"folder": str(folder)})
        assert answer.json() == {"watched": [str(folder)]}
        until(console, {"a.md": "indexed"})
    with open_console(shared, home) as again:
        again.enter()
        assert again.json("/folders")["watched"] == [str(folder)]
        until(again, {"a.md": "indexed"})
        (folder / "b.md").write_text("# B\n\nMore.\n")
        (folder / "a.md").unlink()
        until(again, {"b.md": "indexed"})
        assert again.post("/folders/unwatch", data={"folder": str(folder)}).json() == {
            "watched": []
        }


def test_a_folder_needs_its_whole_path(locked: Console) -> None:
    locked.enter()
    for folder in ("", "notes"):
        answer = locked.post("/folders/index", data={"folder": folder})
        assert answer.status_code == 400
        assert "whole path" in answer.text
