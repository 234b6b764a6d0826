"""Collections: atomic transactions, and collections that are used with their own model only."""

import threading
from pathlib import Path

import anyio
import numpy as np
import pytest

from quinion.concurrency import in_thread
from quinion.errors import BadSetting, StoreUnavailable
from quinion.model.record import Hit, Record
from quinion.store.base import Selector, Vectors, VectorStore
from quinion.store.collections import Collections, Write
from tests.unit.store.stores import open_store

pytestmark = pytest.mark.anyio

OF_A = Selector.by_values("things", owner="a")
EVERYTHING = Selector.everything("c")
LOCAL_MODEL = "local"
DIMENSIONS = 8


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def store(tmp_path: Path) -> VectorStore:
    return open_store(tmp_path / "store")


@pytest.fixture
def collections(store: VectorStore) -> Collections:
    return Collections(store, lambda: LOCAL_MODEL)


def records(owner: str, count: int = 3) -> list[Record]:
    return [Record(f"{owner}{i}", f"text {i} of {owner}", {"owner": owner}) for i in range(count)]


def vectors(count: int = 3) -> Vectors:
    return np.eye(DIMENSIONS, dtype=np.float32)[:count]


async def add(collections: Collections, owner: str) -> None:
    await collections.write(lambda write: write.upsert("things", records(owner), vectors()))


def search(collections: Collections) -> list[Hit]:
    [query] = vectors(1)
    return collections.search_vectors("things", query, 10)


async def owners(collections: Collections) -> set[object]:
    return {record.metadata["owner"] for record in await collections.get("things")}


async def texts(collections: Collections) -> set[str]:
    return {record.text for record in await collections.get("things")}


def replace_a(write: Write) -> None:
    write.delete(OF_A)
    write.upsert("things", [Record("a9", "new", {"owner": "a"})], vectors(1))
    write.upsert("lines", [Record("a", "new", {})], np.zeros((1, 1), np.float32))


async def test_written_records_are_found(collections: Collections) -> None:
    await add(collections, "a")
    assert len(await collections.get("things", where={"owner": "a"})) == 3
    assert len(search(collections)) == 3


async def test_work_that_fails_changes_nothing_in_any_collection(collections: Collections) -> None:
    await add(collections, "a")
    before = await texts(collections)

    def fail(write: Write) -> None:
        replace_a(write)
        raise StoreUnavailable("the registry is gone")

    with pytest.raises(StoreUnavailable, match="registry"):
        await collections.write(fail)
    assert await texts(collections) == before
    assert await collections.get("lines") == []
    assert len(search(collections)) == 3


async def test_a_replacement_replaces_the_existing_records(collections: Collections) -> None:
    await add(collections, "a")
    await collections.write(replace_a)
    assert await texts(collections) == {"new"}
    assert [record.id for record in await collections.get("lines")] == ["a"]


async def test_a_transaction_that_has_begun_is_completed_when_its_caller_is_cancelled(
    collections: Collections,
) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def work(write: Write) -> None:
        begun.set()
        may_end.wait(30)
        write.upsert("things", records("a"), vectors())

    async with anyio.create_task_group() as group:
        group.start_soon(collections.write, work)
        await in_thread(begun.wait, 30)
        group.cancel_scope.cancel()
        may_end.set()
    assert await owners(collections) == {"a"}


async def test_a_caller_that_was_cancelled_begins_no_transaction(collections: Collections) -> None:
    begun: list[str] = []

    async def keep_writing() -> None:
        while True:
            await collections.write(lambda _: begun.append("a transaction"))

    async with anyio.create_task_group() as group:
        group.start_soon(keep_writing)
        while len(begun) < 3:  # noqa: ASYNC110 - there is no event for it
            await anyio.sleep(0.01)
        group.cancel_scope.cancel()
        before = len(begun)
    assert len(begun) <= before + 1  # the one that had begun


async def test_readers_see_the_old_state_until_a_transaction_ends(collections: Collections) -> None:
    await add(collections, "a")
    replaced, may_end = threading.Event(), threading.Event()

    def work(write: Write) -> None:
        replace_a(write)
        replaced.set()
        may_end.wait(30)

    async with anyio.create_task_group() as group:
        group.start_soon(collections.write, work)
        await in_thread(replaced.wait, 30)
        assert await texts(collections) == {f"text {i} of a" for i in range(3)}
        assert len(search(collections)) == 3
        assert await collections.count(OF_A) == 3
        may_end.set()
    assert await texts(collections) == {"new"}


async def test_deleting_returns_the_number_of_selected_records(collections: Collections) -> None:
    await add(collections, "a")
    await add(collections, "b")
    assert await collections.delete([OF_A, Selector.by_ids("things", ["b0"])]) == 4
    assert await texts(collections) == {"text 1 of b", "text 2 of b"}
    assert await collections.delete([Selector.everything("things")]) == 2
    await add(collections, "b")
    assert await owners(collections) == {"b"}


async def test_metadata_is_set_on_the_selected_records_only(collections: Collections) -> None:
    await add(collections, "a")
    await add(collections, "b")
    await collections.write(lambda write: write.update_metadata(OF_A, {"until": 20241211}))
    for record in await collections.get("things"):
        expected = {"owner": "a", "until": 20241211} if record.id[0] == "a" else {"owner": "b"}
        assert record.metadata == expected


async def fill(collections: Collections, count: int = 3) -> None:
    await collections.write(lambda write: write.upsert("c", records("id", count), vectors(count)))


async def test_another_model_on_the_same_collection_is_refused(collections: Collections) -> None:
    collections.declare("c", "model-a")
    await fill(collections)
    collections.declare("c", "model-b")
    with pytest.raises(BadSetting, match=r"model-a.*model-b"):
        collections.search_vectors("c", vectors(1)[0], 1)
    with pytest.raises(BadSetting, match=r"model-a.*model-b"):
        await fill(collections, 5)
    assert await collections.count(EVERYTHING) == 3
    collections.declare("c", "model-a")
    assert len(collections.search_vectors("c", vectors(1)[0], 5)) == 3


async def test_operations_without_vectors_work_with_any_model(
    store: VectorStore, collections: Collections
) -> None:
    collections.declare("c", "model-a")
    await fill(collections)
    collections.declare("c", "model-b")
    assert len(await collections.get("c")) == await collections.count(EVERYTHING) == 3
    assert await collections.delete([Selector.by_ids("c", ["id0"])]) == 1
    assert await collections.delete([EVERYTHING]) == 2
    await fill(collections)  # the collection is deleted with its model
    assert store.model("c") == "model-b"


async def test_a_collection_for_which_nothing_is_declared_has_the_local_model(
    store: VectorStore,
    collections: Collections,
) -> None:
    await fill(collections)
    assert store.model("c") == LOCAL_MODEL
    collections.declare("c", "model-b")
    with pytest.raises(BadSetting, match="model-b"):
        collections.search_vectors("c", vectors(1)[0], 1)


async def test_a_collection_whose_model_is_not_known_yet_can_be_counted(
    collections: Collections,
) -> None:
    collections.declare("c", None)
    assert await collections.count(EVERYTHING) == 0
    collections.declare("c", "model-a")
    await fill(collections)
    collections.declare("c", None)
    assert await collections.count(EVERYTHING) == 3
    collections.declare("c", "model-b")
    with pytest.raises(BadSetting, match=r"model-a.*model-b"):
        collections.search_vectors("c", vectors(1)[0], 1)


async def test_a_collection_without_a_model_is_searched(
    store: VectorStore, collections: Collections
) -> None:
    """It was imported from another program, which used the model of the contracts."""
    with store.transaction() as transaction:
        transaction.upsert("c", records("id"), vectors(), "")
    assert len(collections.search_vectors("c", vectors(1)[0], 5)) == 3
    await fill(collections, 4)
    assert len(collections.search_vectors("c", vectors(1)[0], 5)) == 4
