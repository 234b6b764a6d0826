"""Picture cache: reuse, replacement of damaged pictures, and a bounded size."""

import io
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PIL import Image

from quinion.engine import Engine, open_engine
from quinion.errors import FileMissing
from quinion.ingest.pictures import Pictures
from quinion.settings import Settings
from tests.documents import PROSE, text_pdf

pytestmark = pytest.mark.anyio
KEY = "a" * 64
OTHER = "b" * 64


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    home = tmp_path_factory.mktemp("home")
    async with open_engine(Settings(home=home, workers=1)) as engine:
        yield engine


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(text_pdf(tmp_path_factory.mktemp("files") / "a.pdf", PROSE, "The second page."))


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def owners(folder: Path) -> set[str]:
    return {path.parent.name for path in folder.rglob("*.png")}


async def test_a_picture_is_made_once_and_kept(engine: Engine, file: str, tmp_path: Path) -> None:
    pictures = Pictures(engine, tmp_path)
    made = await pictures.page(file, KEY, 1)
    assert Image.open(io.BytesIO(made)).format == "PNG"
    assert kept(tmp_path) == ["page-1.png"]
    # The file is not read again.
    assert await pictures.page("/not/there", KEY, 1) == made


@pytest.mark.parametrize("broken", [b"", b"\x89PNG\r\n\x1a\n", b"no picture at all", None])
async def test_a_broken_picture_is_replaced(
    engine: Engine, file: str, tmp_path: Path, broken: bytes | None
) -> None:
    pictures = Pictures(engine, tmp_path)
    made = await pictures.page(file, KEY, 1)
    path = tmp_path / KEY / "page-1.png"
    path.write_bytes(made[:-20] if broken is None else broken)
    assert await pictures.page(file, KEY, 1) == made
    assert path.read_bytes() == made


async def test_the_ones_longest_unseen_go_when_there_are_too_many(
    engine: Engine, file: str, tmp_path: Path
) -> None:
    size = len(await Pictures(engine, tmp_path / "probe").page(file, KEY, 1))
    pictures = Pictures(engine, tmp_path / "kept", max_bytes=2 * size)
    for age, key in enumerate((KEY, OTHER)):
        await pictures.page(file, key, 1)
        old = tmp_path / "kept" / key / "page-1.png"
        os.utime(old, (age, age))
    await pictures.page(file, KEY, 1)  # used again
    await pictures.page(file, "c" * 64, 1)
    assert owners(tmp_path / "kept") == {KEY, "c" * 64}


async def test_a_folder_that_cannot_be_written_is_no_reason_not_to_show(
    engine: Engine, file: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    assert await Pictures(engine, tmp_path / "file").page(file, KEY, 1)


async def test_a_failed_picture_leaves_no_file(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(FileMissing):
        await Pictures(engine, tmp_path).page("/not/there", KEY, 1)
    assert kept(tmp_path) == []
