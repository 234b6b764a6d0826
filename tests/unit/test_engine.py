"""The engine locks its home and the folder of its store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quinion.engine import Engine, open_engine
from quinion.errors import HomeInUse
from quinion.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with open_engine(Settings(home=tmp_path / "home", workers=1, mirror="off")) as engine:
        yield engine


async def test_one_home_has_one_engine(engine: Engine) -> None:
    with pytest.raises(HomeInUse):
        async with open_engine(engine.settings):
            pass


@pytest.mark.parametrize("first", ["chroma", "one/chroma"])
async def test_two_homes_cannot_share_one_folder_of_vectors(tmp_path: Path, first: str) -> None:
    shared = tmp_path / first
    async with open_engine(Settings(home=tmp_path / "one", chroma_dir=shared)):
        with pytest.raises(HomeInUse, match="chroma"):
            async with open_engine(Settings(home=tmp_path / "two", chroma_dir=shared)):
                pass
