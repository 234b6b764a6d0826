"""`quinion worker`: documents that a server hands over are ingested elsewhere, once."""

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import anyio
import pytest

from quinion.engine import Engine, open_engine
from quinion.errors import ExtractionFailed, FileMissing
from quinion.ingest.applications.ingestion import ApplicationIngestion
from quinion.ingest.applications.records import KnownDocument, NewDocument, Outcome
from quinion.ingest.library.adder import DocumentAdder
from quinion.ingest.library.library import Library
from quinion.ingest.progress import no_progress
from quinion.ingest.source import hash_file
from quinion.queue.dispatcher import Dispatcher
from quinion.servers.document_store import records
from quinion.servers.document_store.citations import DocumentCitations
from quinion.settings import Settings
from quinion.store.base import Selector
from quinion.store.bucket import Bucket
from tests.cluster.processes import Process
from tests.contract.process import SCRIPTS
from tests.documents import PROSE, text_pdf
from tests.postgres_server import needs_postgres

pytestmark = [pytest.mark.anyio, needs_postgres]
STARTING_S = 120.0

StartWorker = Callable[[], Process]


@pytest.fixture
def start_worker(variables: dict[str, str], tmp_path: Path, models: Path) -> Iterator[StartWorker]:
    started: list[Process] = []

    def start() -> Process:
        folder = tmp_path / "workers"
        folder.mkdir(exist_ok=True)
        name = f"worker-{len(started)}"
        (folder / name).mkdir()
        (folder / name / "home").mkdir()
        (folder / name / "home" / "models").symlink_to(models)
        started.append(Process(folder, name, ["worker"], variables))
        return started[-1]

    yield start
    for worker in started:
        worker.kill()
        assert "Traceback" not in worker.log.read_text(), worker.log.read_text()


@pytest.fixture
async def engine(variables: dict[str, str], tmp_path: Path, models: Path) -> AsyncIterator[Engine]:
    given = {**variables, "QUINION_HOME": str(tmp_path / "home")}
    settings = Settings.from_environment(given).model_copy(update={"models": models})
    async with open_engine(settings) as engine:
        yield engine


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return text_pdf(tmp_path / "statement.pdf", PROSE, PROSE.replace("two", "nine"))


async def wait_for(engine: Engine, workers: int) -> None:
    assert isinstance(engine.queue, Dispatcher)
    with anyio.fail_after(STARTING_S):
        while True:
            if await engine.queue.count_workers() == workers:
                return
            await anyio.sleep(0.1)


async def ingest(engine: Engine, file: Path, ref: str = "A") -> Outcome:
    return await ApplicationIngestion(engine, records).ingest(str(file), ref, None, no_progress)


async def test_a_worker_ingests_what_the_server_hands_over(
    engine: Engine, start_worker: StartWorker, file: Path
) -> None:
    worker = start_worker()
    await wait_for(engine, 1)
    outcome = await ingest(engine, file)
    assert isinstance(outcome, NewDocument)
    assert engine.workers.load.pids == ()  # nothing was read here
    document = outcome.document
    assert (document.file_path, document.file_hash) == (file, hash_file(file))
    assert outcome.character_count > len(PROSE)
    assert await ingest(engine, file) == KnownDocument(document.id)
    await anyio.Path(file).unlink()
    chunk = engine.store.get(records.CHUNKS)[0]
    [passage] = (await DocumentCitations(engine).passages([chunk.id])).values()
    assert (await engine.evidence.show(passage, 1)).startswith(b"\x89PNG")
    assert await anyio.to_thread.run_sync(worker.stop) == 0
    await wait_for(engine, 0)


async def test_a_worker_adds_documents_to_the_library(
    engine: Engine, start_worker: StartWorker, file: Path
) -> None:
    start_worker()
    await wait_for(engine, 1)
    document, is_new, hidden = await DocumentAdder(Library(engine)).add(str(file), no_progress)
    assert (document.source_file, document.total_pages, is_new, hidden) == (file.name, 2, True, {})
    stored = await Library(engine).document(document.slug)
    assert (stored.slug, stored.sha256) == (document.slug, document.sha256)
    again, is_new, _ = await DocumentAdder(Library(engine)).add(str(file), no_progress)
    assert (again, is_new) == (stored, False)


async def test_errors_of_a_document_are_those_of_a_server(
    engine: Engine, start_worker: StartWorker, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged.pdf"
    damaged.write_bytes(b"%PDF-1.7\nnothing")
    with pytest.raises(ExtractionFailed) as here:
        await ingest(engine, damaged)
    start_worker()
    await wait_for(engine, 1)
    with pytest.raises(ExtractionFailed) as there:
        await ingest(engine, damaged)
    assert str(there.value) == str(here.value)
    with pytest.raises(FileMissing):
        await ingest(engine, tmp_path / "missing.pdf")
    assert engine.store.collections() == []
    assert engine.settings.blobs_url
    assert list(Bucket(engine.settings.blobs_url).list("")) == []


async def test_documents_survive_the_death_of_a_worker(
    engine: Engine, start_worker: StartWorker, tmp_path: Path
) -> None:
    first, second = start_worker(), start_worker()
    await wait_for(engine, 2)
    pages = [PROSE.replace("two", f"number {number}") for number in range(12)]
    files = [text_pdf(tmp_path / f"{n}.pdf", *pages[: n + 1]) for n in range(12)]
    outcomes: list[Outcome] = []

    async def add(file: Path) -> None:
        outcomes.append(await ingest(engine, file))

    async with anyio.create_task_group() as group:
        for file in files:
            group.start_soon(add, file)
        while len(outcomes) < 2:  # noqa: ASYNC110
            await anyio.sleep(0.02)
        os.kill(first.process.pid, signal.SIGKILL)
    assert all(isinstance(one, NewDocument | KnownDocument) for one in outcomes)
    stored = engine.store.get(records.REGISTRY)
    assert {one.metadata["file_hash"] for one in stored} == {hash_file(file) for file in files}
    for one in stored:
        chunks = Selector.by_values(records.CHUNKS, document_id=one.id)
        assert engine.store.count(chunks) == one.metadata["chunk_count"]
    assert second.process.poll() is None


def test_a_worker_without_a_database_or_a_bucket_does_not_start(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(SCRIPTS / "quinion"), "worker"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "QUINION_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode
    assert "QUINION_DATABASE_URL" in done.stderr
