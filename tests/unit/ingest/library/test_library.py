"""Lifetime of an original file: stored and removed together with its document."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import numpy as np
import pytest

from quinion.engine import open_engine
from quinion.errors import ExtractionFailed
from quinion.ingest.kept_files import NewFile
from quinion.ingest.library.library import Library
from quinion.ingest.library.records import DOCUMENTS
from quinion.model.record import Record
from quinion.settings import Settings

pytestmark = pytest.mark.anyio
CONTENT = b"content"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    async with open_engine(Settings(home=tmp_path / "home")) as engine:
        yield Library(engine)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.pdf"
    path.write_bytes(CONTENT)
    return path


def new(file: Path, sha256: str = SHA256) -> NewFile:
    return NewFile(file, sha256, (), required=True)


def kept(library: Library) -> list[str]:
    folder = library.resources.settings.home / "originals"
    return sorted(path.name for path in folder.iterdir())


async def list_document(library: Library) -> None:
    record = Record("a", "A", {"sha256": SHA256})
    await library.resources.collections.write(
        lambda write: write.upsert(DOCUMENTS, [record], np.zeros((1, 1), np.float32))
    )


async def test_an_original_stays_when_its_document_is_listed(library: Library, file: Path) -> None:
    async with library.resources.kept.change([new(file)]):
        # Should the process die here, the next one knows that it may not be listed.
        assert len(kept(library)) == 2
        await list_document(library)
    assert kept(library) == [SHA256]


async def test_an_original_goes_when_its_document_could_not_be_written(
    library: Library, file: Path
) -> None:
    with pytest.raises(RuntimeError):
        async with library.resources.kept.change([new(file)]):
            raise RuntimeError
    assert kept(library) == []


async def test_an_original_goes_when_adding_is_cancelled(library: Library, file: Path) -> None:
    with anyio.CancelScope() as scope:
        async with library.resources.kept.change([new(file)]):
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert kept(library) == []


async def test_a_file_that_has_changed_is_not_kept(library: Library, file: Path) -> None:
    with pytest.raises(ExtractionFailed, match="changed"):
        async with library.resources.kept.change([new(file, "0" * 64)]):
            pytest.fail("it was kept")
    assert kept(library) == []
