"""`quinion verify` on intact and damaged homes."""

from datetime import date
from pathlib import Path
from typing import Any

import anyio
import pytest

from quinion.cli.server_client import call, connect
from quinion.engine import open_engine
from quinion.ingest.folders.records import IndexCollections
from quinion.ingest.library.records import CONTENT, DOCUMENTS
from quinion.model.policy import PolicyCategory, PolicyDraft, RevisionDraft, RevisionUpdate
from quinion.servers.document_store.records import CHUNKS, REGISTRY
from quinion.settings import Settings
from quinion.store.policies import open_registry
from tests.unit.cli.conftest import Run, damage
from tests.unit.store.damage import flip_in

SERVERS = ["document-store", "policy-kb", "docvec", "doclibrary"]
NOTES = IndexCollections("documents")


def ask(server: str, tool: str, **arguments: str) -> Any:
    """Call a server's tool and return its answer."""

    async def run() -> Any:
        async with connect(Settings.from_environment(), server) as client:
            return await call(client, tool, arguments)

    return anyio.run(run)


def list_ids(*collections: str) -> dict[str, list[str]]:
    async def read() -> dict[str, list[str]]:
        async with open_engine(Settings.from_environment()) as engine:
            return {
                name: [one.id for one in await engine.collections.get(name)] for name in collections
            }

    return anyio.run(read)


def problems_of(quinion: Run) -> dict[str, list[str]]:
    answers = quinion("verify", "--json").json
    return {name: answers[name]["problems"] for name in SERVERS if answers[name]["problems"]}


@pytest.mark.slow
def test_an_intact_home_has_no_problems(filled: Path, quinion: Run) -> None:
    ended = quinion("verify", "--json")
    assert ended.status == 0, ended
    assert list(ended.json) == SERVERS
    assert [ended.json[server]["problems"] for server in SERVERS] == [[]] * 4
    assert ended.json["document-store"]["records"] == 2
    assert quinion("verify").status == 0


@pytest.mark.slow
def test_missing_data_is_named(filled: Path, quinion: Run) -> None:
    damage(CHUNKS)
    damage(NOTES.chunks)
    [original] = (filled / "originals").iterdir()
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


@pytest.mark.slow
def test_a_repair_removes_nothing_that_may_be_needed_and_a_second_ingest_completes_it(
    filled: Path, quinion: Run, files: Path
) -> None:
    """Chunks without a registry line, content of a document that is not listed, and chunks of a
    file that is not listed may be all that is left of them."""
    for collection in (REGISTRY, NOTES.files, DOCUMENTS):
        damage(collection)
    left = list_ids(CHUNKS, NOTES.chunks, CONTENT)
    assert all(left.values())
    ended = quinion("verify", "--repair", "--json")
    assert ended.status == 1
    assert "ingest it again" in str(ended.json["document-store"]["problems"])
    assert "index it again" in str(ended.json["docvec"]["problems"])
    assert "add it again" in str(ended.json["doclibrary"]["problems"])
    assert [ended.json[name]["repaired"] for name in SERVERS] == [[]] * 4
    assert list_ids(CHUNKS, NOTES.chunks, CONTENT) == left

    letter = str(files / "Letter.pdf")
    answer = ask("document-store", "ingest_document", application_ref="A", file_path=letter)
    assert answer["status"] == "success"
    answer = ask("docvec", "index_file", file_path=str(files / "notes.md"))
    assert answer["success"], answer
    ask("doclibrary", "add_document", file_path=letter)
    assert problems_of(quinion) == {}
    assert list_ids(CHUNKS, NOTES.chunks, CONTENT) == left


@pytest.mark.slow
def test_documents_without_chunks_are_completed_by_a_second_ingest(
    filled: Path, quinion: Run, files: Path
) -> None:
    before = list_ids(CHUNKS, NOTES.chunks)
    damage(CHUNKS)
    damage(NOTES.chunks)
    ended = quinion("verify", "--repair", "--json")
    assert ended.status == 1
    [problem] = ended.json["document-store"]["problems"]
    assert "0 chunks are stored, and the registry says 1: ingest it again" in problem
    assert ended.json["docvec"]["problems"] == []
    [repaired] = ended.json["docvec"]["repaired"]
    assert "Taken off the list; index it again" in repaired
    assert list_ids(REGISTRY, NOTES.files) == {
        REGISTRY: [problem.partition(":")[0]],
        NOTES.files: [],
    }

    letter, notes = str(files / "Letter.pdf"), str(files / "notes.md")
    answer = ask("document-store", "ingest_document", application_ref="A", file_path=letter)
    assert answer["status"] == "success"
    answer = ask("docvec", "index_file", file_path=notes)
    assert answer["success"], answer
    assert problems_of(quinion) == {}
    assert list_ids(CHUNKS, NOTES.chunks) == before
    answer = ask("document-store", "ingest_document", application_ref="A", file_path=letter)
    assert answer["status"] == "already_ingested"


@pytest.mark.slow
def test_a_damaged_record_is_named_and_repaired(filled: Path, quinion: Run) -> None:
    flip_in(filled / "store" / "store.db", b"One text.")
    ended = quinion("verify", "--json")
    assert ended.status == 1
    [problem] = ended.json["docvec"]["problems"]
    assert "does not match its checksum" in problem
    ended = quinion("verify", "--repair")
    assert ended.status == 0, ended
    assert "does not match its checksum" in " ".join(ended.out.replace("│", " ").split())
    assert problems_of(quinion) == {}


def test_a_damaged_record_without_a_mirror_is_named_and_stays(
    filled: Path, quinion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUINION_MIRROR", "off")
    flip_in(filled / "store" / "store.db", b"One text.")
    for arguments in ([], ["--repair"], []):
        ended = quinion("verify", "--json", *arguments)
        assert ended.status == 1
        assert "does not match its checksum" in str(ended.json["docvec"]["problems"])
        assert ended.json["docvec"]["records"] == 2


@pytest.mark.slow
def test_a_store_that_looks_lost_is_not_taken_for_an_empty_one(home: Path, quinion: Run) -> None:
    """The registry has a revision with a text, and the store has no record at all."""
    home.mkdir()
    registry = open_registry(home / "policies.db")
    registry.create_policy(PolicyDraft("NPPF", "A Framework", PolicyCategory.NATIONAL_POLICY))
    plan = registry.create_revision("NPPF", RevisionDraft("2024", date(2024, 12, 12)))
    revision = plan.revision.revision_id
    before = registry.update_revision("NPPF", revision, RevisionUpdate(chunk_count=5))
    registry.close()
    assert quinion("verify").status == 1
    ended = quinion("verify", "--repair")
    assert ended.status == 1
    for part in ("looks lost rather than empty", "quinion restore", "quinion import chroma"):
        assert part in ended.err
    registry = open_registry(home / "policies.db")
    assert registry.get_revision("NPPF", revision).chunk_count == 5
    assert before
    registry.close()


@pytest.mark.slow
def test_every_collection_of_docvec_is_checked(
    filled: Path, quinion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(NOTES.chunks)
    monkeypatch.setenv("DOCVEC_COLLECTION", "others")
    assert "has no chunks" in str(quinion("verify", "--json").json["docvec"]["problems"])
