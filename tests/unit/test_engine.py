"""Transactions of the engine: atomic, even if the caller or the store fails."""

import threading
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import numpy as np
import pytest

from quinion.concurrency import in_thread
from quinion.engine import Engine, Write, open_engine
from quinion.errors import HomeInUse, StoreUnavailable
from quinion.model.record import Record
from quinion.settings import Settings
from quinion.store.base import Selector

pytestmark = pytest.mark.anyio

OF_A = Selector.by_values("things", owner="a")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with open_engine(Settings(home=tmp_path / "home", workers=1, mirror="off")) as engine:
        yield engine


def records(owner: str, count: int = 3) -> list[Record]:
    return [Record(f"{owner}{i}", f"text {i} of {owner}", {"owner": owner}) for i in range(count)]


def vectors(count: int = 3) -> "np.typing.NDArray[np.float32]":
    return np.eye(384, dtype=np.float32)[:count]


async def add(engine: Engine, owner: str) -> None:
    await engine.write(lambda write: write.upsert("things", records(owner), vectors()))


async def owners(engine: Engine) -> set[object]:
    return {record.metadata["owner"] for record in await engine.get("things")}


async def texts(engine: Engine) -> set[str]:
    return {record.text for record in await engine.get("things")}


def replace_a(write: Write) -> None:
    write.delete(OF_A)
    write.upsert("things", [Record("a9", "new", {"owner": "a"})], vectors(1))
    write.upsert("lines", [Record("a", "new", {})], np.zeros((1, 1), np.float32))


async def test_written_records_are_found(engine: Engine) -> None:
    await add(engine, "a")
    assert len(await engine.get("things", where={"owner": "a"})) == 3
    assert len(await engine.search("things", "text", 10)) == 3


async def test_work_that_fails_changes_nothing_in_any_collection(engine: Engine) -> None:
    await add(engine, "a")
    before = await texts(engine)

    def fail(write: Write) -> None:
        replace_a(write)
        raise StoreUnavailable("the registry is gone")

    with pytest.raises(StoreUnavailable, match="registry"):
        await engine.write(fail)
    assert await texts(engine) == before
    assert await engine.get("lines") == []
    assert len(await engine.search("things", "text", 10)) == 3


async def test_a_replacement_replaces_the_existing_records(engine: Engine) -> None:
    await add(engine, "a")
    await engine.write(replace_a)
    assert await texts(engine) == {"new"}
    assert [record.id for record in await engine.get("lines")] == ["a"]


async def test_a_transaction_that_has_begun_is_completed_when_its_caller_is_cancelled(
    engine: Engine,
) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def work(write: Write) -> None:
        begun.set()
        may_end.wait(30)
        write.upsert("things", records("a"), vectors())

    async with anyio.create_task_group() as group:
        group.start_soon(engine.write, work)
        await in_thread(begun.wait, 30)
        group.cancel_scope.cancel()
        may_end.set()
    assert await owners(engine) == {"a"}


async def test_a_caller_that_was_cancelled_begins_no_transaction(engine: Engine) -> None:
    begun: list[str] = []

    async def keep_writing() -> None:
        while True:
            await engine.write(lambda _: begun.append("a transaction"))

    async with anyio.create_task_group() as group:
        group.start_soon(keep_writing)
        while len(begun) < 3:  # noqa: ASYNC110 - the engine has no event for it
            await anyio.sleep(0.01)
        group.cancel_scope.cancel()
        before = len(begun)
    assert len(begun) <= before + 1  # the one that had begun


async def test_readers_see_the_old_state_until_a_transaction_ends(engine: Engine) -> None:
    await add(engine, "a")
    replaced, may_end = threading.Event(), threading.Event()

    def work(write: Write) -> None:
        replace_a(write)
        replaced.set()
        may_end.wait(30)

    async with anyio.create_task_group() as group:
        group.start_soon(engine.write, work)
        await in_thread(replaced.wait, 30)
        assert await texts(engine) == {f"text {i} of a" for i in range(3)}
        assert len(await engine.search("things", "text", 10)) == 3
        assert await engine.count(OF_A) == 3
        may_end.set()
    assert await texts(engine) == {"new"}


async def test_deleting_returns_the_number_of_selected_records(engine: Engine) -> None:
    await add(engine, "a")
    await add(engine, "b")
    assert await engine.delete([OF_A, Selector.by_ids("things", ["b0"])]) == 4
    assert await texts(engine) == {"text 1 of b", "text 2 of b"}
    assert await engine.delete([Selector.everything("things")]) == 2
    await add(engine, "b")
    assert await owners(engine) == {"b"}


async def test_metadata_is_set_on_the_selected_records_only(engine: Engine) -> None:
    await add(engine, "a")
    await add(engine, "b")
    await engine.write(lambda write: write.update_metadata(OF_A, {"until": 20241211}))
    for record in await engine.get("things"):
        expected = {"owner": "a", "until": 20241211} if record.id[0] == "a" else {"owner": "b"}
        assert record.metadata == expected


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
