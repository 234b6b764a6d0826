"""`quinion import chroma`, run in this process."""

from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from quinion.cli.server_client import call, connect
from quinion.engine import open_engine
from quinion.model.policy import (
    PolicyCategory,
    PolicyDraft,
    RevisionDraft,
    RevisionStatus,
    RevisionUpdate,
)
from quinion.servers import document_store, policy_kb
from quinion.servers.document_store.records import CHUNKS, REGISTRY
from quinion.servers.policy_kb.records import CHUNKS as POLICIES
from quinion.settings import Settings
from quinion.store.embedded.store import EmbeddedStore
from quinion.store.policies import open_registry
from tests.contract.process import free_port
from tests.documents import PROSE, text_pdf
from tests.unit.cli.conftest import Run
from tests.unit.store.chroma.chromas import Copy, other_program, read_chroma, read_store

FAILED = 1


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory, models: Path) -> dict[str, Copy]:
    """Write a document and a revision of a policy in their stored form."""
    folder = tmp_path_factory.mktemp("stock")
    letter = text_pdf(folder / "Letter.pdf", PROSE)
    settings = Settings(home=folder / "home", models=models, workers=1, mirror="off")

    async def fill() -> dict[str, Copy]:
        async with open_engine(settings) as engine:
            register(settings.home)
            for server, tool, arguments in (
                (document_store, "ingest_document", {"application_ref": "A"}),
                (policy_kb, "ingest_policy_revision", {"source": "PLAN", "revision_id": "first"}),
            ):
                async with Client(server.build(engine)) as client:
                    done = await client.call_tool(tool, {"file_path": str(letter), **arguments})
                    assert not done.is_error, done
            assert isinstance(engine.store, EmbeddedStore)
            return read_store(engine.store)

    return anyio.run(fill)


@pytest.fixture
def theirs(stock: dict[str, Copy], tmp_path: Path) -> Path:
    """Chroma of another program that follows the contract, without quinion's model marks."""
    with other_program(tmp_path / "theirs") as client:
        for name, copy in stock.items():
            collection = client.create_collection(name, embedding_function=None)
            records = [record for record, _ in copy.records.values()]
            collection.upsert(
                ids=[record.id for record in records],
                documents=[record.text for record in records],
                metadatas=[dict(record.metadata) for record in records],
                embeddings=[vector for _, vector in copy.records.values()],
            )
        recipes = client.create_collection("recipes", embedding_function=None)
        recipes.upsert(ids=["soup"], documents=["Soup"], embeddings=[[1.0, 2.0]])
    return tmp_path / "theirs"


@pytest.fixture
def own(home: Path, models: Path) -> Path:
    """An empty home with the same policy; its registry lists the text as stored."""
    home.mkdir()
    (home / "models").symlink_to(models)
    register(home)
    with closing(open_registry(home / policy_kb.REGISTRY_FILE)) as registry:
        there = RevisionUpdate(RevisionStatus.ACTIVE, chunk_count=1)
        registry.update_revision("PLAN", "first", there)
    return home


@pytest.fixture
def _unmirrored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUINION_MIRROR", "off")


def register(home: Path) -> None:
    with closing(open_registry(home / policy_kb.REGISTRY_FILE)) as registry:
        registry.create_policy(PolicyDraft("PLAN", "The plan", PolicyCategory.LOCAL_PLAN))
        registry.create_revision("PLAN", RevisionDraft("1", date(2026, 1, 1), None, "first"))


def ask(server: str, tool: str, **arguments: str) -> Any:
    async def run() -> Any:
        async with connect(Settings.from_environment(), server) as client:
            return await call(client, tool, arguments)

    return anyio.run(run)


@pytest.mark.slow
def test_data_of_another_program_is_imported_and_searchable(
    own: Path, theirs: Path, stock: dict[str, Copy], quinion: Run
) -> None:
    ended = quinion("import", "chroma", str(theirs))
    assert ended.status == 0, ended
    assert f"{CHUNKS}: 1 records imported" in ended.out
    assert f"{REGISTRY}: 1 records imported" in ended.out
    assert f"{POLICIES}: 1 records imported" in ended.out
    assert "recipes: ignored, not a collection of quinion" in ended.out

    [document] = ask("document-store", "list_ingested_documents", application_ref="A")["documents"]
    found = ask("document-store", "search_application_docs", query="cycle", application_ref="A")
    assert "two hundred covered cycle parking spaces" in found["results"][0]["text"]
    text = ask("document-store", "get_document_text", document_id=document["document_id"])
    assert "two hundred covered cycle parking spaces" in text["text"]
    found = ask("policy-kb", "search_policy", query="cycle", effective_date="2026-06-01")
    assert [hit["source"] for hit in found["results"]] == ["PLAN"]
    assert "two hundred covered cycle parking spaces" in found["results"][0]["text"]

    ended = quinion("import", "chroma", str(theirs), "--json")
    assert ended.status == 0, ended
    present = {
        "imported": 0,
        "present": 1,
        "different": 0,
        "unreadable": [],
        "invalid": [],
        "failure": "",
    }
    assert ended.json == {
        "collections": dict.fromkeys((CHUNKS, REGISTRY, POLICIES), present),
        "ignored": ["recipes"],
    }
    mirror = read_chroma(own / "chroma")
    assert {name: copy.records for name, copy in mirror.items()} == {
        name: copy.records for name, copy in stock.items()
    }


@pytest.mark.slow
@pytest.mark.usefixtures("_unmirrored")
def test_failed_imports_are_named_and_set_the_exit_status(
    own: Path, theirs: Path, quinion: Run
) -> None:
    with other_program(theirs) as client:
        lines = client.get_collection(REGISTRY)
        lines.update(ids=lines.get()["ids"], metadatas=[{"file_hash": None}])
        lines.upsert(ids=[f"x{n}" for n in range(7)], embeddings=[[1.0] * 384] * 7)
        client.delete_collection(POLICIES)
    ended = quinion("import", "chroma", str(theirs))
    assert ended.status == FAILED
    assert f"{CHUNKS}: 1 records imported" in ended.out
    assert f"{REGISTRY}: 8 records without required metadata, not imported:" in ended.out
    again = quinion("import", "chroma", str(theirs), "--json").json
    assert len(again["collections"][REGISTRY]["invalid"]) == 8


@pytest.mark.slow
@pytest.mark.usefixtures("_unmirrored")
def test_vectors_of_another_model_are_refused_and_set_the_exit_status(
    own: Path, theirs: Path, quinion: Run
) -> None:
    assert quinion("import", "chroma", str(theirs)).status == 0
    with other_program(theirs) as client:
        client.delete_collection(CHUNKS)
        chunks = client.create_collection(CHUNKS, embedding_function=None)
        keys = ("application_ref", "document_id", "source_file", "page_numbers", "chunk_index")
        chunks.upsert(ids=["x"], metadatas=[dict.fromkeys(keys, "x")], embeddings=[[1.0, 2.0]])
    ended = quinion("import", "chroma", str(theirs))
    assert ended.status == FAILED
    assert f"{CHUNKS}: import stopped early: The vectors of {CHUNKS} have" in ended.out


def test_a_source_without_chroma_is_an_error_with_advice(
    own: Path, tmp_path: Path, quinion: Run
) -> None:
    ended = quinion("import", "chroma", str(tmp_path / "nowhere"))
    assert ended.status == FAILED
    assert "There is no Chroma in" in ended.err
    assert "nowhere" in ended.err
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.usefixtures("_unmirrored")
def test_a_server_that_does_not_answer_is_an_error_that_names_it(own: Path, quinion: Run) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    ended = quinion("import", "chroma", address)
    assert ended.status == FAILED
    assert address in ended.err


@pytest.mark.usefixtures("_unmirrored")
def test_an_empty_chroma_has_nothing_to_import(own: Path, tmp_path: Path, quinion: Run) -> None:
    with other_program(tmp_path / "empty"):
        pass
    ended = quinion("import", "chroma", str(tmp_path / "empty"))
    assert (ended.status, ended.out.strip()) == (0, "No collections to import.")
