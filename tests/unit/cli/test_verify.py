"""`quinion verify`, on homes that are well and homes that are not."""

from pathlib import Path

from quinion.servers.document_store.records import CHUNKS
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
