"""Originals in a bucket: shown by another server than the one that ingested them."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import pytest
from pydantic import SecretStr

from quinion.engine import Engine, open_engine
from quinion.errors import StoreUnavailable
from quinion.ingest.applications.ingestion import ApplicationIngestion
from quinion.ingest.applications.records import NewDocument
from quinion.ingest.progress import no_progress
from quinion.ingest.source import hash_file
from quinion.servers.document_store import records
from quinion.servers.document_store.citations import DocumentCitations
from quinion.settings import Settings
from quinion.store.base import Selector
from quinion.store.bucket import Bucket
from tests.documents import PROSE, text_pdf
from tests.postgres_server import PostgresServer, needs_postgres, postgres_server
from tests.s3_server import S3Server, s3_server

pytestmark = [pytest.mark.anyio, pytest.mark.slow, needs_postgres]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    with s3_server() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def settings(tmp_path: Path, models: Path, postgres: PostgresServer, bucket: S3Server) -> Settings:
    return Settings(
        home=tmp_path / "home",
        models=models,
        workers=1,
        database_url=SecretStr(postgres.new_database()),
        blobs_url=bucket.url,
    )


@pytest.fixture
def elsewhere(settings: Settings, tmp_path: Path) -> Settings:
    """The same database and bucket, and another home."""
    return settings.model_copy(update={"home": tmp_path / "elsewhere"})


@pytest.fixture
async def engine(settings: Settings) -> AsyncIterator[Engine]:
    async with open_engine(settings) as engine:
        yield engine


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return text_pdf(tmp_path / "statement.pdf", PROSE, PROSE.replace("two", "nine"))


async def ingest(engine: Engine, file: Path) -> NewDocument:
    outcome = await ApplicationIngestion(engine, records).ingest(str(file), "A", None, no_progress)
    assert isinstance(outcome, NewDocument)
    return outcome


def keys(settings: Settings) -> list[str]:
    assert settings.blobs_url
    return sorted(key for key, _ in Bucket(settings.blobs_url).list(""))


async def test_another_server_shows_the_pages_and_deletes_the_document(
    settings: Settings, elsewhere: Settings, file: Path
) -> None:
    async with open_engine(settings) as engine:
        document = (await ingest(engine, file)).document
    assert keys(settings) == [f"originals/{document.file_hash}", f"words/{document.file_hash}"]
    assert not (settings.home / "originals").exists()
    await anyio.Path(file).unlink()
    async with open_engine(elsewhere) as engine:
        chunk = engine.store.get(records.CHUNKS)[0]
        [passage] = (await DocumentCitations(engine).passages([chunk.id])).values()
        [located] = await engine.evidence.find([passage])
        assert located.regions
        assert (await engine.evidence.show(passage, 1)).startswith(b"\x89PNG")
        await ApplicationIngestion(engine, records).delete(document.id)
    assert keys(settings) == []


async def test_without_its_bucket_a_server_searches_and_stores_nothing(
    engine: Engine, settings: Settings, file: Path, bucket: S3Server
) -> None:
    document = (await ingest(engine, file)).document
    bucket.close()
    other = text_pdf(file.with_name("other.pdf"), PROSE.replace("two", "seven"))
    with pytest.raises(StoreUnavailable, match="s3://documents/quinion cannot be"):
        await ingest(engine, other)
    with pytest.raises(StoreUnavailable, match="s3://documents/quinion cannot be"):
        await ApplicationIngestion(engine, records).delete(document.id)
    stored = Selector.everything(records.REGISTRY)
    assert engine.store.count(stored) == 1
    bucket.start()  # as empty as moto is after a restart
    assert (await ingest(engine, other)).document.file_hash == hash_file(other)
    assert engine.store.count(stored) == 2


async def test_a_server_starts_without_its_bucket(
    settings: Settings, bucket: S3Server, caplog: pytest.LogCaptureFixture
) -> None:
    bucket.close()
    async with open_engine(settings):
        assert "Originals cannot be shown or added now" in caplog.text


async def test_a_document_of_two_applications_keeps_its_original_until_both_are_gone(
    engine: Engine, settings: Settings, file: Path
) -> None:
    first = (await ingest(engine, file)).document
    ingestion = ApplicationIngestion(engine, records)
    second = await ingestion.ingest(str(file), "B", None, no_progress)
    assert isinstance(second, NewDocument)
    await ingestion.delete(first.id)
    assert f"originals/{first.file_hash}" in keys(settings)
    await ingestion.delete(second.document.id)
    assert keys(settings) == []
