from pathlib import Path

import pytest
from mcp import Client

from quinion.engine import open_engine
from quinion.errors import DocumentMissing
from quinion.ingest.applications.ingestion import ApplicationIngestion
from quinion.servers import document_store
from quinion.servers.document_store import records
from quinion.servers.document_store.records import CHUNKS, REGISTRY
from quinion.settings import Settings
from tests.documents import text_pdf

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.slow
async def test_deleting_a_document_takes_its_chunks_and_its_entry_and_no_others(
    tmp_path: Path,
) -> None:
    settings = Settings(home=tmp_path / "home", workers=1)
    async with open_engine(settings) as engine, Client(document_store.build(engine)) as client:
        ids = []
        for name in ("one", "two"):
            file = text_pdf(tmp_path / f"{name}.pdf", f"This is document {name}.")
            answer = await client.call_tool(
                "ingest_document", {"file_path": str(file), "application_ref": "X/1"}
            )
            assert answer.structured_content is not None
            ids.append(answer.structured_content["document_id"])
        await ApplicationIngestion(engine, records).delete(ids[0])
        assert [record.id for record in await engine.collections.get(REGISTRY)] == [ids[1]]
        assert {r.metadata["document_id"] for r in await engine.collections.get(CHUNKS)} == {ids[1]}
        with pytest.raises(DocumentMissing):
            await ApplicationIngestion(engine, records).delete(ids[0])
