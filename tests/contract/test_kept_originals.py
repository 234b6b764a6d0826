"""Originals and words of pages are kept while any document of any server needs them."""

from collections.abc import AsyncIterator
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from quinion.backup import restore
from quinion.engine import Engine, open_engine
from quinion.home import hold_home, store_place
from quinion.ingest.applications.ingestion import ApplicationIngestion
from quinion.ingest.applications.records import NewDocument
from quinion.ingest.folders.folder_index import FolderIndex
from quinion.ingest.folders.indexer import Indexer
from quinion.ingest.library.adder import DocumentAdder
from quinion.ingest.library.library import Library
from quinion.ingest.policies import KnowledgeBase
from quinion.ingest.progress import no_progress
from quinion.ingest.revisions import RevisionIngestion
from quinion.ingest.source import hash_file
from quinion.model.policy import PolicyCategory, PolicyDraft, RevisionDraft
from quinion.servers.document_store import records
from quinion.servers.policy_kb import open_knowledge
from quinion.settings import Settings
from quinion.store.policies import open_registry
from tests.contract.conftest import NewHome
from tests.contract.local import Shared, run_local
from tests.documents import PROSE, text_pdf

pytestmark = pytest.mark.anyio
START = date(2024, 1, 1)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def settings(tmp_path: Path, models: Path) -> Settings:
    return Settings(home=tmp_path / "home", models=models, mirror="off", workers=1)


@pytest.fixture
async def engine(settings: Settings) -> AsyncIterator[Engine]:
    async with open_engine(settings) as engine:
        yield engine


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return text_pdf(tmp_path / "statement.pdf", PROSE, PROSE.replace("two", "nine"))


def kept(engine: Engine) -> list[str]:
    """What is kept, with its kind; nothing of it is marked as unfinished."""
    folders = [engine.settings.home / name for name in ("originals", "words")]
    return sorted(
        f"{folder.name}/{path.name}"
        for folder in folders
        if folder.is_dir()
        for path in folder.iterdir()
    )


def move(folder: Path, target: Path) -> None:
    target.parent.mkdir()
    folder.rename(target)


def find(engine: Engine, sha256: str) -> Path:
    path = engine.kept.originals.fetch(sha256)
    assert path
    return path


def both(sha256: str) -> list[str]:
    return [f"originals/{sha256}", f"words/{sha256}"]


async def ingest(engine: Engine, file: Path, *, replace: bool = False) -> str:
    ingestion = ApplicationIngestion(engine, records)
    outcome = await ingestion.ingest(str(file), "A", None, no_progress, replace=replace)
    assert isinstance(outcome, NewDocument)
    return outcome.document.id


async def add_policy(engine: Engine, file: Path) -> KnowledgeBase:
    knowledge = open_knowledge(engine)
    await knowledge.create_policy(PolicyDraft("NPPF", "NPPF", PolicyCategory.NATIONAL_POLICY))
    plan = await knowledge.create_revision("NPPF", RevisionDraft("2024", START))
    revision = plan.revision.revision_id
    await RevisionIngestion(knowledge).ingest("NPPF", revision, str(file), no_progress)
    return knowledge


async def test_a_file_is_kept_until_the_last_server_has_removed_it(
    engine: Engine, file: Path
) -> None:
    sha256 = hash_file(file)
    document = await ingest(engine, file)
    index = FolderIndex(engine)
    await Indexer(index).index_file(str(file), no_progress)
    library = Library(engine)
    slug = (await DocumentAdder(library).add(str(file), no_progress))[0].slug
    knowledge = await add_policy(engine, file)
    [revision] = (await knowledge.sync())["NPPF"]
    assert kept(engine) == both(sha256)
    assert hash_file(find(engine, sha256)) == sha256
    assert sorted(engine.kept.words.read_all(sha256)) == [1, 2]

    await ApplicationIngestion(engine, records).delete(document)
    assert kept(engine) == both(sha256)
    await index.delete_file(str(file))
    assert kept(engine) == both(sha256)
    await knowledge.remove_chunks("NPPF", revision.revision_id)
    assert kept(engine) == both(sha256)
    await library.remove(slug)
    assert kept(engine) == []


async def test_a_replaced_file_goes_and_the_new_one_stays(engine: Engine, file: Path) -> None:
    await ingest(engine, file)
    index = FolderIndex(engine)
    await Indexer(index).index_file(str(file), no_progress)
    text_pdf(file, PROSE.replace("two", "six"))
    await ingest(engine, file, replace=True)
    await Indexer(index).index_file(str(file), no_progress)
    assert kept(engine) == both(hash_file(file))
    await index.clear()
    await index.delete_chunks(["none"])
    assert kept(engine) == both(hash_file(file))


async def test_deleting_the_last_chunks_of_a_file_removes_what_is_kept(
    engine: Engine, file: Path
) -> None:
    index = FolderIndex(engine)
    _, run = await Indexer(index).index_file(str(file), no_progress)
    [chunks] = run.indexed.values()
    await index.delete_chunks(chunks[:1])
    assert kept(engine) == both(hash_file(file))
    await index.delete_chunks(chunks)
    assert kept(engine) == []


async def test_a_replaced_text_of_a_revision_takes_its_file_with_it(
    engine: Engine, file: Path
) -> None:
    knowledge = await add_policy(engine, file)
    [revision] = (await knowledge.sync())["NPPF"]
    text_pdf(file, PROSE.replace("two", "six"))
    await RevisionIngestion(knowledge).ingest("NPPF", revision.revision_id, str(file), no_progress)
    assert kept(engine) == both(hash_file(file))


async def test_without_originals_only_the_words_are_kept(settings: Settings, file: Path) -> None:
    off = settings.model_copy(update={"keep_originals": "off"})
    async with open_engine(off) as engine:
        document = await ingest(engine, file)
        assert kept(engine) == both(hash_file(file))[1:]
        await ApplicationIngestion(engine, records).delete(document)
        assert kept(engine) == []


async def test_what_a_killed_process_left_is_finished_at_the_next_start(
    settings: Settings, file: Path, tmp_path: Path
) -> None:
    async with open_engine(settings) as engine:
        await ingest(engine, file)
        other = text_pdf(tmp_path / "other.pdf", "Never listed.")
        # A process that dies while it adds one document and removes another leaves these marks.
        engine.kept.originals.keep(other, hash_file(other))
        engine.kept.originals.mark_unlisted(hash_file(file))
        assert len(kept(engine)) == 5
    async with open_engine(settings) as engine:
        assert kept(engine) == both(hash_file(file))


async def test_the_originals_of_an_earlier_version_are_adopted(
    settings: Settings, file: Path
) -> None:
    async with open_engine(settings) as engine:
        library = Library(engine)
        slug = (await DocumentAdder(library).add(str(file), no_progress))[0].slug
    earlier = settings.home / "library" / "originals"
    move(settings.home / "originals", earlier)
    async with open_engine(settings) as engine:
        library = Library(engine)
        assert await library.show_page(await library.document(slug), 2)
        assert kept(engine) == both(hash_file(file))


async def test_a_store_in_memory_leaves_nothing_in_the_home(settings: Settings, file: Path) -> None:
    async with open_engine(settings.model_copy(update={"chroma_in_memory": True})) as engine:
        await ingest(engine, file)
        folder = find(engine, hash_file(file)).parent
        assert kept(engine) == []
    assert not folder.exists()


async def test_a_backup_has_the_originals(settings: Settings, file: Path, tmp_path: Path) -> None:
    async with open_engine(settings) as engine:
        await ingest(engine, file)
        archive = await engine.back_up()
    elsewhere = settings.model_copy(update={"home": tmp_path / "restored"})
    with hold_home(elsewhere):
        restore(store_place(elsewhere), archive)
    async with open_engine(elsewhere) as engine:
        assert kept(engine) == both(hash_file(file))
        assert hash_file(find(engine, hash_file(file))) == hash_file(file)


@pytest.mark.parametrize("name", ["document-store", "policy-kb", "docvec"])
def test_a_damaged_original_is_found_and_deleted_by_a_repair(
    name: str, shared: Shared, new_home: NewHome
) -> None:
    home = new_home()
    file = text_pdf(home.files / "statement.pdf", PROSE)
    sha256 = hash_file(file)
    with run_local(shared, name, home) as server, server.session(command=True) as session:
        if name == "document-store":
            session.call("ingest_document", file_path=str(file), application_ref="A")
        elif name == "docvec":
            session.call("index_file", file_path=str(file))
        else:
            place = home.path / "policies.db"
            with closing(open_registry(place, None, home.database)) as registry:
                registry.create_policy(PolicyDraft("NPPF", "NPPF", PolicyCategory.NATIONAL_POLICY))
                plan = registry.create_revision("NPPF", RevisionDraft("2024", START))
            revision = plan.revision.revision_id
            session.call(
                "ingest_policy_revision", source="NPPF", revision_id=revision, file_path=str(file)
            )
        copy = home.path / "originals" / sha256
        assert session.call("verify")["problems"] == []
        copy.write_bytes(b"damaged")
        [problem] = session.call("verify")["problems"]
        assert "the kept copy of its file is damaged" in problem
        repaired = session.call("verify", repair=True)
        assert repaired["problems"] == []
        assert "is deleted" in repaired["repaired"][0]
        assert not copy.exists()
