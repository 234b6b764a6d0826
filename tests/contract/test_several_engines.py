"""Several engines, equal and at once, on one database: what they store agrees."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import date
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest
from pydantic import SecretStr

from quinion.concurrency import together
from quinion.engine import Engine
from quinion.errors import LeaseLost, RevisionOverlap
from quinion.ingest import policies
from quinion.ingest.applications.ingestion import ApplicationIngestion
from quinion.ingest.applications.records import KnownDocument, NewDocument
from quinion.ingest.folders.folder_index import FolderIndex
from quinion.ingest.folders.indexer import Indexer
from quinion.ingest.kept_files import NewFile
from quinion.ingest.library.adder import DocumentAdder
from quinion.ingest.library.library import Library
from quinion.ingest.policies import KnowledgeBase
from quinion.ingest.progress import no_progress
from quinion.ingest.revisions import RevisionIngestion
from quinion.ingest.source import hash_file
from quinion.model.policy import PolicyCategory, PolicyDraft, RevisionDraft, RevisionUpdate
from quinion.servers.document_store import records
from quinion.servers.policy_kb import open_knowledge
from quinion.servers.policy_kb import records as policy_records
from quinion.settings import Settings
from quinion.store.base import Selector
from quinion.store.collections import Write
from tests.contract.local import Shared, open_local_engine
from tests.documents import PROSE, text_pdf
from tests.postgres_server import (
    PROGRAMS,
    WHY_NOT,
    PostgresServer,
    execute,
    needs_postgres,
    postgres_server,
)

pytestmark = needs_postgres

ENGINES = 3
OpenEngine = Callable[[Path], Engine]


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    if not PROGRAMS:
        pytest.skip(WHY_NOT)
    with postgres_server() as server:
        yield server


@pytest.fixture
def open_one(database: PostgresServer, shared: Shared, models: Path) -> Iterator[OpenEngine]:
    """Opens an engine on the home and on the database of the test."""
    url = database.new_database()
    with ExitStack() as stack:

        def open_one(home: Path) -> Engine:
            settings = Settings(home=home, models=models, database_url=SecretStr(url))
            context = open_local_engine(shared, settings, None)
            return stack.enter_context(shared.portal.wrap_async_context_manager(context))

        yield open_one


@pytest.fixture
def engines(open_one: OpenEngine, tmp_path: Path) -> list[Engine]:
    """Two engines that share a home, and one with a home of its own."""
    return [open_one(tmp_path / name) for name in ("home", "home", "other")]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return text_pdf(tmp_path / "statement.pdf", PROSE)


async def gather(jobs: Sequence[Callable[[], Awaitable[object]]]) -> list[object]:
    """Run jobs at the same time; return their results or errors."""
    found: list[object] = [None] * len(jobs)

    async def run(place: int) -> None:
        try:
            found[place] = await jobs[place]()
        except Exception as error:
            found[place] = error

    await together(*[lambda place=place: run(place) for place in range(len(jobs))])
    return found


def check(engine: Engine) -> None:
    """Check the integrity of all collections."""
    for name in engine.store.collections():
        assert engine.store.check(name).problems == (), name


@pytest.mark.slow
def test_one_file_that_all_ingest_is_one_document(
    engines: list[Engine], shared: Shared, file: Path
) -> None:
    ingestions = [ApplicationIngestion(engine, records) for engine in engines * 2]

    def ingest(one: ApplicationIngestion) -> Callable[[], Awaitable[object]]:
        return lambda: one.ingest(str(file), "A", None, no_progress)

    results = shared.portal.call(gather, [ingest(one) for one in ingestions])
    assert sum(isinstance(one, NewDocument) for one in results) == 1, results
    assert sum(isinstance(one, KnownDocument) for one in results) == len(results) - 1
    [document] = engines[2].store.get(records.REGISTRY)
    chunks = Selector.by_values(records.CHUNKS, document_id=document.id)
    assert engines[0].store.count(chunks) == document.metadata["chunk_count"]
    sha256 = str(document.metadata["file_hash"])
    assert any(engine.kept.originals.has(sha256) for engine in engines)
    check(engines[1])


@pytest.mark.slow
def test_documents_that_would_have_one_id_have_different_ones(
    engines: list[Engine], shared: Shared, tmp_path: Path
) -> None:
    short = SimpleNamespace(**vars(records))
    short.possible_ids = lambda _, sha256: iter(["A_1", "A_2", f"A_{sha256}"])
    files = [text_pdf(tmp_path / f"{n}.pdf", f"{PROSE} {n}") for n in range(ENGINES)]

    def ingest(engine: Engine, path: Path) -> Callable[[], Awaitable[object]]:
        return lambda: ApplicationIngestion(engine, short).ingest(str(path), "A", None, no_progress)

    shared.portal.call(gather, list(map(ingest, engines, files)))
    found = {one.id: str(one.metadata["file_path"]) for one in engines[0].store.get(short.REGISTRY)}
    assert {*found.values()} == {*map(str, files)}
    assert {"A_1", "A_2"} < found.keys()
    check(engines[1])


@pytest.mark.slow
def test_one_file_that_all_add_to_the_library_is_one_document(
    engines: list[Engine], shared: Shared, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "copy").mkdir()
    same_name = text_pdf(tmp_path / "copy" / file.name, PROSE * 2)

    def add(engine: Engine, path: Path) -> Callable[[], Awaitable[object]]:
        return lambda: DocumentAdder(Library(engine)).add(str(path), no_progress)

    jobs = [add(engine, path) for engine in engines for path in (file, same_name)]
    results = shared.portal.call(gather, jobs)
    assert sum(result[1] for result in results) == 2, results  # type: ignore[index]
    documents = shared.portal.call(Library(engines[2]).documents)
    assert {one.slug for one in documents} == {"statement", "statement_2"}
    check(engines[1])


def test_a_folder_that_all_index_is_indexed_once(
    engines: list[Engine], shared: Shared, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for n in range(4):
        (folder / f"{n}.md").write_text(f"# Note {n % 3}\n\n{PROSE}\n")

    def index(engine: Engine) -> Callable[[], Awaitable[object]]:
        indexer = Indexer(FolderIndex(engine))
        return lambda: indexer.index_directory(str(folder), recursive=True, progress=no_progress)

    results = shared.portal.call(gather, [index(engine) for engine in engines])
    names = FolderIndex(engines[0]).names
    assert sum(one.total_chunks for one in results) == engines[0].count(names.chunks)  # type: ignore[attr-defined]
    assert len(engines[2].store.get(names.files)) == 3
    check(engines[1])


def open_policies(engines: list[Engine], shared: Shared) -> list[KnowledgeBase]:
    knowledge = [open_knowledge(engine) for engine in engines]
    draft = PolicyDraft("NPPF", "Framework", PolicyCategory.NATIONAL_POLICY)
    shared.portal.call(knowledge[0].create_policy, draft)
    return knowledge


def test_revisions_that_supersede_each_other_at_once_do_not_overlap(
    engines: list[Engine], shared: Shared, file: Path
) -> None:
    knowledge = open_policies(engines, shared)

    async def revise(one: KnowledgeBase, year: int) -> object:
        plan = await one.create_revision("NPPF", RevisionDraft(str(year), date(year, 1, 1)))
        id_ = plan.revision.revision_id
        await RevisionIngestion(one).ingest("NPPF", id_, str(file), no_progress)
        return None

    years = range(2018, 2018 + 2 * ENGINES)

    def job(year: int) -> Callable[[], Awaitable[object]]:
        return lambda: revise(knowledge[year % ENGINES], year)

    results = shared.portal.call(gather, [job(year) for year in years])
    # A later revision may have been there first; then an earlier one without an end overlaps it.
    assert all(one is None or isinstance(one, RevisionOverlap) for one in results), results
    by_source = shared.portal.call(knowledge[1].sync)
    found = sorted(by_source["NPPF"], key=lambda one: one.effective_from)
    assert len(found) == sum(one is None for one in results)
    for one, after in pairwise(found):
        assert one.effective_to is not None
        assert one.effective_to < after.effective_from
    for one in found:
        select = policy_records.select_revision("NPPF", one.revision_id)
        chunks = engines[0].store.get(select.collection, where=select.where)
        assert len(chunks) == one.chunk_count > 0
        dates = policy_records.registry_metadata(one)
        assert all(dates.items() <= dict(chunk.metadata).items() for chunk in chunks)
    check(engines[0])


def test_only_revisions_of_a_stopped_engine_are_recounted(
    engines: list[Engine], shared: Shared, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policies, "RECOVERY_S", 0)
    one, two, _ = open_policies(engines, shared)

    async def run() -> list[int]:
        registry = await one.registry()
        plan = await one.create_revision("NPPF", RevisionDraft("2024", date(2024, 1, 1)))
        id_ = plan.revision.revision_id
        await RevisionIngestion(one).ingest("NPPF", id_, str(file), no_progress)
        counts = []

        async def spoil() -> None:
            registry.update_revision("NPPF", id_, RevisionUpdate(chunk_count=99))
            await two.registry()
            counts.append(registry.get_revision("NPPF", id_).chunk_count)

        async with one.mark_busy(("NPPF", id_)):
            await spoil()
        mark = policies._busy_key("NPPF", id_)
        await engines[0].collections.write(lambda write: write.set_value(mark, "busy"))
        await spoil()
        return counts

    [while_running, afterwards] = shared.portal.call(run)
    assert while_running == 99
    assert 0 < afterwards < 99


def test_a_start_keeps_the_files_that_another_engine_is_storing(
    open_one: OpenEngine, shared: Shared, file: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    engine = open_one(home)
    sha256 = hash_file(file)
    original = home / "originals" / sha256
    copying = original.with_name("copying-1")

    async def store() -> None:
        async with engine.kept.change([NewFile(file, sha256, [])]):
            copying.touch()
            assert original.exists()
            await anyio.to_thread.run_sync(_open_in_thread)
            assert original.exists()
            assert copying.exists()

    def _open_in_thread() -> None:
        # From here the portal's loop is free for the start of the other engine.
        open_one(home)

    shared.portal.call(store)
    assert not original.exists()  # no record names it
    engine.kept.originals.keep(file, sha256)  # as a process that was killed leaves it
    open_one(home)
    assert not original.exists()


def test_work_that_was_taken_over_stores_nothing(engines: list[Engine], shared: Shared) -> None:
    one, two, _ = engines
    url = one.settings.database
    assert url

    def set_by(name: str) -> Callable[[Write], None]:
        return lambda write: write.set_value("by", name)

    async def run() -> None:
        is_held, is_taken = anyio.Event(), anyio.Event()

        async def be_late() -> None:
            async with one.locks.hold(("document", "x")):
                is_held.set()
                await is_taken.wait()
                with pytest.raises(LeaseLost, match="taken this work over"):
                    await one.collections.write(set_by("one"))

        async def take_over() -> None:
            await is_held.wait()
            execute(url, "UPDATE quinion.leases SET expires = clock_timestamp() - '1 s'::interval")
            async with two.locks.hold(("document", "x")):
                await two.collections.write(set_by("two"))
                is_taken.set()

        await together(be_late, take_over)

    shared.portal.call(run)
    assert one.store.values("by") == {"by": "two"}
