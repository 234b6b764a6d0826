from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quinion.engine import Engine, open_engine
from quinion.errors import ExtractionFailed
from quinion.ingest import documents
from quinion.ingest.source import open_source
from quinion.settings import Settings
from tests.documents import PROSE, text_pdf

pytestmark = pytest.mark.anyio

PAGES = 3


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with open_engine(Settings(home=tmp_path / "home", workers=1)) as engine:
        yield engine


async def no_progress(done: float, total: float, message: str) -> None:
    pass


@pytest.mark.parametrize("way", ["read", "read_lined"])
async def test_more_text_than_a_document_may_have_is_refused(
    engine: Engine, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = open_source(str(text_pdf(tmp_path / "a.pdf", *[PROSE] * PAGES)), {".pdf"}, [])

    async def count_pages() -> int:
        if way == "read_lined":
            return len(await documents.read_lined(engine, source, no_progress))
        document = await documents.read(
            engine, source, ocr=False, threshold=1.0, progress=no_progress
        )
        return len(document.pages)

    monkeypatch.setattr(documents, "MAX_CHARACTERS", 2 * PAGES * len(PROSE))
    assert await count_pages() == PAGES
    monkeypatch.setattr(documents, "MAX_CHARACTERS", (PAGES - 1) * len(PROSE))
    with pytest.raises(ExtractionFailed, match=r"a.pdf has more than \d+ characters of text"):
        await count_pages()
