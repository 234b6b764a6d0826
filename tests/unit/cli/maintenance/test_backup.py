"""`quinion backup`, `restore` and `rebuild`, on real homes."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.store.damage import flip, flip_in, truncate

WAITING = "The Chroma mirror has not been filled yet"


def ask(quinion: Run) -> Any:
    answer = quinion("search", "planning permission", "--json").json
    return answer["document-store"], answer["docvec"]["data"]["results"]


def use(home: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch to another, empty home."""
    monkeypatch.setenv("QUINION_HOME", str(home))
    monkeypatch.setenv("CHROMA_PERSIST_DIR", str(home / "chroma"))
    home.mkdir()
    (home / "models").symlink_to(models)


@pytest.mark.slow
def test_a_home_is_backed_up_and_restored_elsewhere(
    filled: Path, quinion: Run, tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "backup.tar"
    before = quinion("verify", "--json").json
    answers = ask(quinion)
    ended = quinion("backup", str(file), "--json")
    assert ended.status == 0, ended
    names = list(ended.json["sha256"])
    assert {"store/store.db", "store/1.vectors"} <= set(names)
    assert any(name.startswith("originals/") for name in names)
    assert not any("chroma" in name or "models" in name for name in names)
    assert not list((filled / "backups").iterdir())
    assert quinion("backup", str(file)).status == 2  # already exists

    assert quinion("restore", str(file)).status == 2  # the home is not empty
    restored = tmp_path / "restored"
    use(restored, models, monkeypatch)
    ended = quinion("restore", str(file))
    assert ended.status == 0, ended
    ended = quinion("verify")  # before another command fills the mirror
    assert ended.status == 0, ended
    assert ended.out.replace("\n", " ").count("Warning:") == 1
    assert WAITING in " ".join(ended.out.split())
    assert quinion("verify", "--json").json == before
    assert ask(quinion) == answers


@pytest.mark.parametrize(
    ("mirror", "words"), [("on", "fills the Chroma mirror"), ("off", "Next: nothing.")]
)
def test_a_restore_says_in_one_line_what_happens_next(
    filled: Path,
    quinion: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mirror: str,
    words: str,
) -> None:
    file = tmp_path / "backup.tar"
    assert quinion("backup", str(file)).status == 0
    restored = tmp_path / "restored"
    monkeypatch.setenv("QUINION_HOME", str(restored))
    monkeypatch.setenv("CHROMA_PERSIST_DIR", str(restored / "chroma"))
    monkeypatch.setenv("QUINION_MIRROR", mirror)
    ended = quinion("restore", str(file))
    assert ended.status == 0, ended.err
    [line] = [line for line in ended.out.splitlines() if line.startswith("Next: ")]
    assert words in line


@pytest.mark.slow
def test_a_home_whose_store_is_on_a_volume_is_backed_up_and_restored(
    home: Path, quinion: Run, tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHROMA_PERSIST_DIR", str(tmp_path / "volume"))
    home.mkdir()
    (home / "models").symlink_to(models)
    (tmp_path / "notes.md").write_text("# Notes\n\nA planning permission.\n")
    assert quinion("index", str(tmp_path / "notes.md")).status == 0
    answers = ask(quinion)
    assert answers[1]
    file = tmp_path / "backup.tar"
    assert quinion("backup", str(file)).status == 0

    restored = tmp_path / "restored"
    use(restored, models, monkeypatch)
    monkeypatch.setenv("CHROMA_PERSIST_DIR", str(tmp_path / "another volume"))
    assert quinion("restore", str(file)).status == 0
    assert (tmp_path / "another volume" / "store" / "store.db").exists()
    assert not (restored / "store").exists()
    assert ask(quinion) == answers
    assert quinion("verify").status == 0
    assert quinion("restore", str(file)).status == 2  # it is not empty now


def test_a_store_in_memory_is_neither_backed_up_nor_restored_nor_rebuilt(
    filled: Path, quinion: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert quinion("backup", str(tmp_path / "backup.tar")).status == 0
    monkeypatch.setenv("CHROMA_PERSIST_DIR", "")
    for command in (
        ["backup", str(tmp_path / "another.tar")],
        ["restore", str(tmp_path / "backup.tar")],
        ["rebuild"],
    ):
        ended = quinion(*command)
        assert ended.status in (1, 2), ended
        assert "in memory" in ended.err
    assert not (tmp_path / "another.tar").exists()
    assert not list((filled / "backups").iterdir())


def test_a_damaged_backup_is_refused_and_leaves_nothing(
    filled: Path, quinion: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "backup.tar"
    assert quinion("backup", str(file)).status == 0
    intact = file.read_bytes()
    restored = tmp_path / "restored"
    monkeypatch.setenv("QUINION_HOME", str(restored))
    monkeypatch.setenv("CHROMA_PERSIST_DIR", str(restored / "chroma"))
    for damaged in (intact[: len(intact) // 2], b"", intact):
        file.write_bytes(damaged)
        if damaged is intact:
            flip(file, len(intact) // 3)
        ended = quinion("restore", str(file))
        assert ended.status == 2, ended
        assert "Use another one" in ended.err
        assert not {path.name for path in restored.iterdir()} - {"engine.lock", "chroma"}
    file.write_bytes(intact)
    assert quinion("restore", str(file)).status == 0


@pytest.mark.slow
def test_a_damaged_mirror_is_rebuilt_by_itself(filled: Path, quinion: Run) -> None:
    answers = ask(quinion)
    truncate(filled / "chroma" / "chroma.sqlite3", 0.1)
    assert ask(quinion) == answers
    assert quinion("verify", "--repair").status == 0
    ended = quinion("verify", "--json")
    assert not any(answer["warnings"] for answer in ended.json.values())


@pytest.mark.slow
def test_a_home_is_rebuilt(filled: Path, quinion: Run) -> None:
    answers = ask(quinion)
    truncate(filled / "store" / "store.db")
    for command in (["verify"], ["search", "planning permission"]):
        ended = quinion(*command)
        assert ended.status == 1, ended
        assert "quinion rebuild" in ended.err
    ended = quinion("rebuild")
    assert ended.status == 0, ended
    assert "store.damaged-" in ended.out
    assert quinion("verify").status == 0
    assert ask(quinion) == answers
    shutil.rmtree(filled / "store")
    assert quinion("rebuild", "--json").status == 0
    assert quinion("verify").status == 0
    assert ask(quinion) == answers


@pytest.mark.slow
def test_a_rebuild_with_losses_reports_them_and_fails(filled: Path, quinion: Run) -> None:
    flip_in(filled / "store" / "store.db", b"One text.")
    shutil.rmtree(filled / "chroma")
    ended = quinion("rebuild")
    assert ended.status == 1
    assert "Lost, no intact copy left: docvec-chunks.documents: " in ended.out
    ended = quinion("verify", "--json")
    assert "has no chunks" in str(ended.json["docvec"]["problems"])


@pytest.mark.slow
def test_where_nothing_can_be_rebuilt_the_message_names_restore(filled: Path, quinion: Run) -> None:
    truncate(filled / "store" / "store.db", 0.01)
    shutil.rmtree(filled / "chroma")
    before = sorted(path.name for path in (filled / "store").iterdir())
    ended = quinion("rebuild")
    assert ended.status == 1
    assert "Nothing can be rebuilt" in ended.err
    assert "quinion restore" in ended.err
    assert sorted(path.name for path in (filled / "store").iterdir()) == before
    assert not [path.name for path in filled.iterdir() if "damaged" in path.name]
