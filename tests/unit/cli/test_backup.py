"""`quinion backup`, `restore` and `rebuild`, on real homes."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.store.damage import flip


def ask(quinion: Run) -> Any:
    answer = quinion("search", "planning permission", "--json").json
    return answer["document-store"], answer["docvec"]["data"]["results"]


def test_a_home_is_backed_up_and_restored_elsewhere(
    filled: Path, quinion: Run, tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "backup.tar"
    before = quinion("verify", "--json").json
    answers = ask(quinion)
    ended = quinion("backup", str(file), "--json")
    assert ended.status == 0, ended
    names = list(ended.json["sha256"])
    assert {"ledger/ledger.db", "journal.db"} <= set(names)
    assert any(name.startswith("library/originals/") for name in names)
    assert not any("chroma" in name or "models" in name for name in names)
    assert not list((filled / "backups").iterdir())
    assert quinion("backup", str(file)).status == 2  # there already

    assert quinion("restore", str(file)).status == 2  # nor is the home empty
    restored = tmp_path / "restored"
    monkeypatch.setenv("QUINION_HOME", str(restored))
    monkeypatch.setenv("CHROMA_PERSIST_DIR", str(restored / "chroma"))
    restored.mkdir()
    (restored / "models").symlink_to(models)
    ended = quinion("restore", str(file))
    assert ended.status == 0, ended
    assert ask(quinion) == answers
    quinion("verify", "--repair")  # fills Chroma at once
    assert quinion("verify", "--json").json == before


def test_a_damaged_backup_is_refused_and_leaves_nothing(
    filled: Path, quinion: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "backup.tar"
    assert quinion("backup", str(file)).status == 0
    whole = file.read_bytes()
    restored = tmp_path / "restored"
    monkeypatch.setenv("QUINION_HOME", str(restored))
    monkeypatch.setenv("CHROMA_PERSIST_DIR", str(restored / "chroma"))
    for damaged in (whole[: len(whole) // 2], b"", whole):
        file.write_bytes(damaged)
        if damaged is whole:
            flip(file, len(whole) // 3)
        ended = quinion("restore", str(file))
        assert ended.status == 2, ended
        assert "Use another one" in ended.err
        assert not {path.name for path in restored.iterdir()} - {"engine.lock", "chroma"}


def test_a_home_is_rebuilt(filled: Path, quinion: Run) -> None:
    answers = ask(quinion)
    database = filled / "chroma" / "chroma.sqlite3"
    database.write_bytes(database.read_bytes()[:5_000])
    ended = quinion("verify")
    assert ended.status == 1
    assert "quinion rebuild" in ended.err
    ended = quinion("rebuild")
    assert ended.status == 0, ended
    assert "chroma.damaged-" in ended.out
    assert quinion("verify").status == 0
    assert ask(quinion) == answers
    shutil.rmtree(filled / "ledger")
    assert quinion("rebuild", "--json").status == 0
    assert quinion("verify").status == 0
    assert ask(quinion) == answers
