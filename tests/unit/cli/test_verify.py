"""`quinion verify`, on homes that are well and homes that are not."""

from pathlib import Path

import pytest

from quinion.servers.document_store.records import CHUNKS, REGISTRY
from quinion.servers.docvec.records import Shelf
from tests.unit.cli.conftest import Run, damage

SERVERS = ["document-store", "policy-kb", "docvec", "doclibrary"]


def test_a_home_that_is_well(filled: Path, quinion: Run) -> None:
    ended = quinion("verify", "--json")
    assert ended.status == 0, ended
    assert list(ended.json) == SERVERS
    assert [ended.json[server]["problems"] for server in SERVERS] == [[]] * 4
    assert ended.json["document-store"]["records"] == 2
    assert quinion("verify").status == 0


def test_what_is_missing_is_named(filled: Path, quinion: Run) -> None:
    damage(CHUNKS)
    damage(Shelf("documents").chunks)
    [original] = (filled / "library" / "originals").iterdir()
    original.write_bytes(b"%PDF-1.4 another")
    ended = quinion("verify", "--json")
    assert ended.status == 1
    assert "the registry says 1" in str(ended.json["document-store"]["problems"])
    assert "has no chunks" in str(ended.json["docvec"]["problems"])
    assert "Letter.pdf) is damaged" in str(ended.json["doclibrary"]["problems"])
    original.unlink()
    ended = quinion("verify")
    assert ended.status == 1
    assert "is gone" in ended.out


def test_what_can_be_mended_is_mended_and_what_is_dropped_is_kept_aside(
    filled: Path, quinion: Run
) -> None:
    damage(REGISTRY)
    damage(Shelf("documents").chunks)
    [original] = (filled / "library" / "originals").iterdir()
    original.write_bytes(b"%PDF-1.4 another")
    ended = quinion("verify", "--repair", "--json")
    assert ended.status == 1
    assert "ingest it again" in str(ended.json["document-store"]["mended"])
    assert "index it again" in str(ended.json["docvec"]["mended"])
    assert len(list((filled / "dropped").iterdir())) == 2
    assert ended.json["doclibrary"]["mended"] == []
    ended = quinion("verify", "--json")
    assert ended.status == 1
    problems = {name: ended.json[name]["problems"] for name in SERVERS}
    assert [name for name in SERVERS if problems[name]] == ["doclibrary"]
    assert "Letter.pdf) is damaged" in str(problems["doclibrary"])
    assert quinion("verify", "--repair").status == 1


def test_every_collection_of_docvec_is_looked_at(
    filled: Path, quinion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(Shelf("documents").chunks)
    monkeypatch.setenv("DOCVEC_COLLECTION", "others")
    assert "has no chunks" in str(quinion("verify", "--json").json["docvec"]["problems"])
