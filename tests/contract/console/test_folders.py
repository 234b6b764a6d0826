"""Folders in the console."""

import time

from tests.contract.console.conftest import Console


def test_folders_have_their_files_with_states(locked: Console) -> None:
    locked.enter()
    assert "No folder is indexed" in locked.page("/folders")
    folder = locked.home.files / "notes"
    folder.mkdir()
    for name in ("a.md", "b.md"):
        (folder / name).write_text(f"# {name}\n\nText of {name}.\n")
    assert locked.post("/folders/index", data={"folder": str(folder)}).status_code == 202
    ends = time.monotonic() + 60
    while (job := locked.json("/jobs")["jobs"][0])["state"] in {"waiting", "running"}:
        assert time.monotonic() < ends
    assert job["message"] == "2 indexed, 0 unchanged, 0 failed."
    (folder / "b.md").unlink()
    shown = locked.json("/folders")
    assert [(one["name"], one["vanished"]) for one in shown["shown"]] == [
        ("a.md", False),
        ("b.md", True),
    ]
    assert [one["vanished"] for one in shown["folders"]] == [1]
    assert locked.json("/folders?folder=/elsewhere")["shown"] == []
    assert locked.post("/folders/prune").json() == {"removed": [str(folder / "b.md")]}
    assert locked.json("/folders")["files"] == 1


def test_a_folder_needs_its_whole_path(locked: Console) -> None:
    locked.enter()
    for folder in ("", "notes"):
        answer = locked.post("/folders/index", data={"folder": folder})
        assert answer.status_code == 400
        assert "whole path" in answer.text
