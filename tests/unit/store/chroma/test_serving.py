"""Mirror behind an engine: client requests do not access Chroma."""

import os
import subprocess
import sys
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from quinion.embed.local.weights import prepare
from quinion.engine import open_engine
from quinion.ingest.folders.records import IndexCollections
from quinion.ingest.library.records import DOCUMENTS
from quinion.model.policy import PolicyCategory, PolicyDraft, RevisionDraft
from quinion.search import modes
from quinion.servers import doclibrary, document_store, docvec, policy_kb
from quinion.servers.base import ContractServer, serving
from quinion.servers.document_store.records import CHUNKS, REGISTRY
from quinion.servers.policy_kb.records import CHUNKS as POLICIES
from quinion.settings import Settings
from quinion.store.chroma import replicator
from quinion.store.embedded.store import EmbeddedStore
from quinion.store.policies import open_registry
from tests.chroma_server import chroma_server
from tests.contract.process import free_port
from tests.documents import PROSE, text_pdf
from tests.unit.store.chroma.chromas import (
    Call,
    Copy,
    count_entries,
    mirror_of,
    read_chroma,
    read_store,
    watch_calls,
)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "models"
    prepare(folder)
    return folder


@pytest.fixture
def settings(tmp_path: Path, models: Path) -> Settings:
    return Settings(home=tmp_path / "home", models=models, workers=1)


@pytest.fixture
def letter(tmp_path: Path) -> Path:
    return text_pdf(tmp_path / "Letter.pdf", PROSE, PROSE)


async def ask(server: ContractServer, tool: str, **arguments: Any) -> None:
    async with Client(server) as client:
        with serving(command=True):
            result = await client.call_tool(tool, arguments)
    assert not result.is_error, result


def register_policy(home: Path) -> None:
    with closing(open_registry(home / policy_kb.REGISTRY_FILE)) as registry:
        registry.create_policy(PolicyDraft("PLAN", "The plan", PolicyCategory.LOCAL_PLAN))
        registry.create_revision("PLAN", RevisionDraft("1", date(2026, 1, 1), None, "first"))


async def ingest_everywhere(settings: Settings, letter: Path, calls: list[Call]) -> dict[str, Copy]:
    path = str(letter)
    async with open_engine(settings) as engine:
        server = document_store.build(engine)
        await ask(server, "ingest_document", file_path=path, application_ref="A")
        assert calls == []
        register_policy(settings.home)
        named = {"source": "PLAN", "revision_id": "first"}
        await ask(policy_kb.build(engine), "ingest_policy_revision", file_path=path, **named)
        assert calls == []
        await ask(docvec.build(engine), "index_file", file_path=path)
        assert calls == []
        await ask(doclibrary.build(engine), "add_document", file_path=path)
        assert calls == []
        assert isinstance(engine.store, EmbeddedStore)
        assert count_entries(engine.store) > 4
        return read_store(engine.store)


@pytest.mark.slow
def test_an_ingest_makes_no_call_to_chroma_before_its_answer(
    settings: Settings, letter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # This excludes the comparison some seconds after the start.
    monkeypatch.setattr(replicator, "QUIET_S", 600.0)
    calls = watch_calls(monkeypatch)
    ours = anyio.run(ingest_everywhere, settings, letter, calls)
    assert calls != []
    theirs = read_chroma(mirror_of(settings.home))
    assert theirs == ours
    collections = IndexCollections("documents")
    assert theirs.keys() >= {
        CHUNKS,
        REGISTRY,
        POLICIES,
        collections.chunks,
        collections.files,
        DOCUMENTS,
    }
    assert all(copy.records for copy in theirs.values())
    assert theirs[CHUNKS].model != ""


USES = """
import sys
import anyio
from mcp import Client
from quinion.engine import open_engine
from quinion.servers import document_store
from quinion.settings import Settings

async def use() -> None:
    settings = Settings.from_environment()
    async with open_engine(settings) as engine, Client(document_store.build(engine)) as client:
        for tool, arguments in (
            ("ingest_document", {"file_path": sys.argv[1], "application_ref": "A"}),
            ("search_application_docs", {"query": "cycle parking", "application_ref": "A"}),
        ):
            answer = (await client.call_tool(tool, arguments)).structured_content
            assert answer["status"] == "success", answer
        print(sum(engine.store.outbox.count().values()))
anyio.run(use)
print(sorted({name.partition(".")[0] for name in sys.modules if name.startswith("chroma")}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("mirror", ["on", "off"])
def test_chroma_is_never_imported_by_the_engine(
    settings: Settings, letter: Path, mirror: str
) -> None:
    settings.home.mkdir()
    (settings.home / "models").symlink_to(settings.models)
    environment = {
        **{name: value for name, value in os.environ.items() if name not in Settings.variables()},
        "QUINION_HOME": str(settings.home),
        "QUINION_MIRROR": mirror,
        "QUINION_WORKERS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", USES, str(letter)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    entries, modules = done.stdout.splitlines()
    assert modules == "[]"
    if mirror == "on":
        assert read_chroma(mirror_of(settings.home))[CHUNKS].records
    else:
        assert int(entries) == 0
        assert not mirror_of(settings.home).exists()


async def ingest_without_server(settings: Settings, letter: Path) -> dict[str, Copy]:
    async with open_engine(settings) as engine:
        server = document_store.build(engine)
        await ask(server, "ingest_document", file_path=str(letter), application_ref="A")
        found = await modes.search(engine.collections, engine.embedder, CHUNKS, "cycle parking", 3)
        assert len(found.hits) == 1
        assert isinstance(engine.store, EmbeddedStore)
        return read_store(engine.store)


async def open_and_close(settings: Settings) -> None:
    async with open_engine(settings):
        pass


@pytest.mark.slow
def test_a_document_that_was_ingested_without_the_server_of_chroma_reaches_it_later(
    settings: Settings, letter: Path, tmp_path: Path
) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    mirrored = settings.model_copy(update={"chroma_url": url})
    ours = anyio.run(ingest_without_server, mirrored, letter)
    with chroma_server(tmp_path / "chroma", port):
        anyio.run(open_and_close, mirrored)
        assert read_chroma(url) == ours
    assert not mirror_of(settings.home).exists()
