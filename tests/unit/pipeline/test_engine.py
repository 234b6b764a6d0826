import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import anyio
import numpy as np
import pytest

from quinion.errors import HomeInUse, StoreUnavailable
from quinion.model.record import Record
from quinion.pipeline.engine import Change, Engine, open_engine
from quinion.settings import Settings
from quinion.store.journal import Journal, Trace
from quinion.store.vectors import VectorStore

pytestmark = pytest.mark.anyio

TRACES = [Trace.of("things", owner="a")]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with open_engine(Settings(home=tmp_path / "home")) as engine:
        yield engine


def records(owner: str, count: int = 3) -> list[Record]:
    return [Record(f"{owner}{i}", f"text {i} of {owner}", {"owner": owner}) for i in range(count)]


def vectors(count: int = 3) -> "np.typing.NDArray[np.float32]":
    return np.eye(384, dtype=np.float32)[:count]


async def write(engine: Engine, owner: str) -> None:
    async with engine.writing([Trace.of("things", owner=owner)]) as writer:
        await writer.upsert("things", records(owner), vectors())


async def test_what_was_written_is_there(engine: Engine) -> None:
    await write(engine, "a")
    assert len(await engine.get("things", where={"owner": "a"})) == 3


async def test_a_failure_leaves_no_trace_and_nothing_else_changed(engine: Engine) -> None:
    await write(engine, "b")
    with pytest.raises(RuntimeError):
        async with engine.writing(TRACES) as writer:
            await writer.upsert("things", records("a"), vectors())
            raise RuntimeError
    assert {r.metadata["owner"] for r in await engine.get("things")} == {"b"}


async def test_cancelling_leaves_no_trace(engine: Engine) -> None:
    with anyio.move_on_after(0.5):
        async with engine.writing(TRACES) as writer:
            await writer.upsert("things", records("a"), vectors())
            await anyio.sleep(60)
    assert await engine.get("things") == []


async def test_what_is_being_written_is_not_found_before_it_is_whole(engine: Engine) -> None:
    async with engine.writing(TRACES) as writer:
        await writer.upsert("things", records("a"), vectors())
        assert await engine.search("things", "text", 10) == []
    assert len(await engine.search("things", "text", 10)) == 3


async def test_what_a_dead_process_left_is_removed_before_the_store_is_used(
    tmp_path: Path,
) -> None:
    settings = Settings(home=tmp_path / "home")
    async with open_engine(settings) as engine:
        await write(engine, "b")
        store = await engine.store()
        # A process that dies between its intent and its end leaves exactly this.
        Journal(settings.home / "journal.db", str(store.place)).begin(TRACES)
        store.upsert("things", records("a"), vectors())
    async with open_engine(settings) as engine:
        assert {r.metadata["owner"] for r in await engine.get("things")} == {"b"}
        assert Journal(settings.home / "journal.db", str(store.place)).unfinished() == []


async def test_recovery_does_not_touch_what_is_being_written_now(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine.writing(TRACES) as writer:
        await writer.upsert("things", records("a"), vectors())
        with monkeypatch.context() as patch, pytest.raises(StoreUnavailable):
            patch.setattr(VectorStore, "delete", _fail)
            await engine.remove([Trace.of("things", owner="b")])
        await engine.store()  # recovers, because the removal above is unfinished
    assert len(await engine.get("things")) == 3


def _fail(*_: object) -> None:
    raise StoreUnavailable("the disk is full")


async def test_an_undo_that_fails_is_hidden_and_done_at_the_next_use(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write(engine, "b")
    with monkeypatch.context() as patch, pytest.raises(StoreUnavailable):
        async with engine.writing(TRACES) as writer:
            await writer.upsert("things", records("a"), vectors())
            patch.setattr(VectorStore, "delete", _fail)
            raise RuntimeError
    found = await engine.search("things", "text", 10)
    assert {hit.record.metadata["owner"] for hit in found} == {"b"}
    assert {r.metadata["owner"] for r in await engine.get("things")} == {"b"}


async def test_remove_deletes_what_the_traces_name(engine: Engine) -> None:
    await write(engine, "a")
    await write(engine, "b")
    await engine.remove(TRACES)
    assert {r.metadata["owner"] for r in await engine.get("things")} == {"b"}


async def replace_by_new(
    engine: Engine, then: Callable[[], Awaitable[object]] | None = None
) -> None:
    new = [Record("a0", "new", {"owner": "a"}), Record("a9", "new", {"owner": "a"})]
    await engine.replace([Change(TRACES[0], new, vectors(2))], then)


async def texts(engine: Engine) -> dict[str, str]:
    return {record.id: record.text for record in await engine.get("things")}


async def test_a_replacement_takes_the_place_of_what_was_there(engine: Engine) -> None:
    await write(engine, "a")
    await replace_by_new(engine)
    assert await texts(engine) == {"a0": "new", "a9": "new"}
    assert list((engine.settings.home / "replacing").iterdir()) == []


async def test_a_replacement_that_fails_leaves_what_was_there(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write(engine, "a")
    before = await texts(engine)
    with monkeypatch.context() as patch, pytest.raises(StoreUnavailable):
        patch.setattr(VectorStore, "delete_ids", _fail)
        await replace_by_new(engine)
    assert await texts(engine) == before
    hits = await engine.search("things", "text", 10)
    assert len(hits) == 3


async def test_a_replacement_whose_end_fails_leaves_what_was_there(engine: Engine) -> None:
    await write(engine, "a")
    before = await texts(engine)

    async def fail() -> None:
        raise StoreUnavailable("the registry is gone")

    with pytest.raises(StoreUnavailable, match="registry"):
        await replace_by_new(engine, fail)
    assert await texts(engine) == before


async def test_several_things_are_replaced_together_or_not_at_all(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write(engine, "a")
    line = Record("line of a", "old", {"k": 1})
    async with engine.writing([Trace.at("lines", "line of a")]) as writer:
        await writer.upsert("lines", [line], np.zeros((1, 1), np.float32))
    changes = [
        Change(
            Trace.at("lines", "line of a", "line of b"),
            [Record("line of b", "new", {"k": 2})],
            np.zeros((1, 1), np.float32),
        ),
        Change(TRACES[0], [Record("b0", "new", {"owner": "b"})], vectors(1)),
    ]
    before = await texts(engine)
    with monkeypatch.context() as patch, pytest.raises(StoreUnavailable):
        patch.setattr(VectorStore, "delete_ids", _fail_at("things"))
        await engine.replace(changes)
    assert await texts(engine) == before
    assert await engine.get("lines") == [line]
    await engine.replace(changes)
    assert await texts(engine) == {"b0": "new"}
    assert [record.id for record in await engine.get("lines")] == ["line of b"]


async def test_what_a_replacement_took_from_others_is_given_back(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files of one index that exchange their contents exchange their ids too."""
    await write(engine, "a")
    await write(engine, "b")
    before = await texts(engine)
    taking = Change(TRACES[0], [Record("b0", "new", {"owner": "a"})], vectors(1))
    with monkeypatch.context() as patch, pytest.raises(StoreUnavailable):
        patch.setattr(VectorStore, "delete_ids", _fail)
        await engine.replace([taking])
    assert await texts(engine) == before
    assert await engine.count(Trace.of("things", owner="b")) == 3


def _fail_at(name: str) -> Callable[..., None]:
    def fail(_: object, collection: str, ids: object) -> None:
        if collection == name:
            raise StoreUnavailable("the disk is full")

    return fail


async def test_a_whole_collection_is_removed(engine: Engine) -> None:
    await write(engine, "a")
    await engine.remove([Trace("things")])
    assert await engine.get("things") == []
    await write(engine, "b")
    assert {r.metadata["owner"] for r in await engine.get("things")} == {"b"}


async def test_metadata_is_set_on_all_that_a_trace_names_and_the_rest_of_it_stays(
    engine: Engine,
) -> None:
    await write(engine, "a")
    await write(engine, "b")
    await engine.set_metadata(TRACES[0], {"until": 20241211})
    assert await engine.count(TRACES[0]) == 3
    for record in await engine.get("things"):
        expected = {"owner": "a", "until": 20241211} if record.id[0] == "a" else {"owner": "b"}
        assert record.metadata == expected


async def test_a_replacement_of_a_dead_process_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(home=tmp_path / "home")
    async with open_engine(settings) as engine:
        await write(engine, "a")
        before = await texts(engine)
        with monkeypatch.context() as patch, pytest.raises(SystemExit):
            # Dying leaves everything as it is: neither the rest of the work nor an undo is done.
            patch.setattr(VectorStore, "delete_ids", _die)
            patch.setattr(Engine, "_undo", _die_again)
            await replace_by_new(engine)
    async with open_engine(settings) as engine:
        assert await texts(engine) == before


def _die(*_: object) -> None:
    raise SystemExit


async def _die_again(*_: object) -> None:
    raise SystemExit


async def test_readers_wait_for_a_replacement(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write(engine, "a")
    seen: list[set[str]] = []
    slow_upsert = VectorStore.upsert

    def upsert(*args: object) -> None:
        slow_upsert(*args)  # type: ignore[arg-type]
        time.sleep(0.3)

    async def look(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        seen.append(set((await texts(engine)).values()))
        task_status.started()
        for _ in range(30):
            seen.append(set((await texts(engine)).values()))
            await anyio.sleep(0.02)

    async with anyio.create_task_group() as group:
        await group.start(look)
        monkeypatch.setattr(VectorStore, "upsert", upsert)
        await replace_by_new(engine)
    old = {f"text {i} of a" for i in range(3)}
    assert old in seen
    assert all(texts in (old, {"new"}) for texts in seen)


async def test_one_home_has_one_engine(engine: Engine) -> None:
    with pytest.raises(HomeInUse):
        async with open_engine(engine.settings):
            pass


async def test_two_homes_cannot_share_one_vector_store(tmp_path: Path) -> None:
    shared = tmp_path / "chroma"
    async with open_engine(Settings(home=tmp_path / "one", chroma_dir=shared)):
        with pytest.raises(HomeInUse, match="chroma"):
            async with open_engine(Settings(home=tmp_path / "two", chroma_dir=shared)):
                pass
