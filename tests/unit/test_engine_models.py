"""Embedding models of collections: a collection is only used with its original model."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quinion.engine import Engine, open_engine
from quinion.errors import BadSetting
from quinion.settings import Settings
from quinion.store.base import Selector
from tests.unit.store.stores import records, vectors

pytestmark = pytest.mark.anyio

EVERYTHING = Selector.everything("c")
[QUERY] = vectors(1)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    settings = Settings(home=tmp_path / "home", workers=1, chroma_in_memory=True)
    async with open_engine(settings) as engine:
        yield engine


async def write(engine: Engine, count: int = 3) -> None:
    await engine.write(lambda write: write.upsert("c", records(count), vectors(count)))


async def test_another_model_on_the_same_collection_is_refused(engine: Engine) -> None:
    engine.declare("c", "model-a")
    await write(engine)
    engine.declare("c", "model-b")
    with pytest.raises(BadSetting, match=r"model-a.*model-b"):
        engine.nearest("c", QUERY, 1)
    with pytest.raises(BadSetting, match=r"model-a.*model-b"):
        await write(engine, 5)
    assert await engine.count(EVERYTHING) == 3
    engine.declare("c", "model-a")
    assert len(engine.nearest("c", QUERY, 5)) == 3


async def test_operations_without_vectors_work_with_any_model(engine: Engine) -> None:
    engine.declare("c", "model-a")
    await write(engine)
    engine.declare("c", "model-b")
    assert len(await engine.get("c")) == await engine.count(EVERYTHING) == 3
    assert await engine.delete([Selector.by_ids("c", ["id 0"])]) == 1
    assert await engine.delete([EVERYTHING]) == 2
    await write(engine)  # the collection is deleted with its model
    assert engine.store.model("c") == "model-b"


async def test_a_collection_for_which_nothing_is_declared_has_the_local_model(
    engine: Engine,
) -> None:
    await write(engine)
    assert engine.store.model("c") == engine.model.fingerprint
    engine.declare("c", "model-b")
    with pytest.raises(BadSetting, match="model-b"):
        engine.nearest("c", QUERY, 1)


async def test_a_collection_whose_model_is_not_known_yet_can_be_counted(engine: Engine) -> None:
    engine.declare("c", None)
    assert await engine.count(EVERYTHING) == 0
    engine.declare("c", "model-a")
    await write(engine)
    engine.declare("c", None)
    assert await engine.count(EVERYTHING) == 3
    engine.declare("c", "model-b")
    with pytest.raises(BadSetting, match=r"model-a.*model-b"):
        engine.nearest("c", QUERY, 1)


async def test_a_collection_without_a_model_is_searched(engine: Engine) -> None:
    """It was imported from another program, which used the model of the contracts."""
    with engine.store.transaction() as transaction:
        transaction.upsert("c", records(3), vectors(3), "")
    assert len(engine.nearest("c", QUERY, 5)) == 3
    await write(engine, 4)
    assert len(engine.nearest("c", QUERY, 5)) == 4
