"""A backup of a home that is being written to is one of a single moment."""

from functools import partial
from pathlib import Path

import anyio
import numpy as np
import pytest

from quinion.errors import InvalidInput
from quinion.model.record import Record
from quinion.pipeline.engine import Engine, Write, in_thread, open_engine
from quinion.pipeline.home import store_place
from quinion.pipeline.keeping import restore
from quinion.settings import Settings
from quinion.store.base import Selector

pytestmark = pytest.mark.anyio

SIZE = 8
"""Records of a document."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def make_records(owner: str, version: int) -> list[Record]:
    return [
        Record(f"{owner} {n}", f"{n} of {owner}", {"owner": owner, "version": version})
        for n in range(SIZE)
    ]


def make_vectors(seed: int) -> "np.typing.NDArray[np.float32]":
    vectors = np.random.default_rng(seed).normal(size=(SIZE, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


async def keep_writing(engine: Engine, done: list[str]) -> None:
    """Add, replace and remove documents."""
    for turn in range(10_000):
        owner = f"owner {turn}"
        await engine.write(partial(write_document, owner, 0, turn))
        done.append(owner)
        if turn % 3 == 1:
            await engine.write(partial(write_document, owner, 1, turn + 9_999))
        if turn % 4 == 3:
            await engine.delete([Selector.by_values("things", owner=f"owner {turn - 2}")])


def write_document(owner: str, version: int, seed: int, write: Write) -> None:
    records, vectors = make_records(owner, version), make_vectors(seed)
    write.delete(Selector.by_values("things", owner=owner))
    write.upsert("things", records[:4], vectors[:4])
    write.upsert("things", records[4:], vectors[4:])


def restore_into(home: Path, file: Path) -> Settings:
    settings = Settings(home=home, chroma_dir=home / "chroma", mirror="off")
    home.mkdir()
    restore(store_place(settings), file)
    return settings


async def test_each_document_is_complete_or_not_there(tmp_path: Path) -> None:
    home = tmp_path / "home"
    files: list[tuple[set[str], Path]] = []
    done: list[str] = []
    settings = Settings(home=home, chroma_dir=home / "chroma", mirror="off")
    async with open_engine(settings) as engine:
        async with anyio.create_task_group() as group:
            group.start_soon(keep_writing, engine, done)
            for count in (1, 6, 12, 18):
                while len(done) < count:  # noqa: ASYNC110 - the engine has no event for it
                    await anyio.sleep(0.01)
                files.append((set(done), await engine.back_up()))
            group.cancel_scope.cancel()
    assert len(files[0][0]) < len(files[-1][0])  # it was being written
    for number, (acknowledged, file) in enumerate(files):
        settings = restore_into(tmp_path / f"restored {number}", file)
        async with open_engine(settings) as engine:
            owners: dict[str, list[object]] = {}
            for record in await engine.get("things"):
                owner = str(record.metadata["owner"])
                owners.setdefault(owner, []).append(record.metadata["version"])
            assert all(len(found) == SIZE for found in owners.values())
            assert all(len(set(found)) == 1 for found in owners.values())
            removed = {f"owner {turn - 2}" for turn in range(10_000) if turn % 4 == 3}
            assert acknowledged - removed <= set(owners)
            assert not (await in_thread(engine.store.check, "things")).problems


async def test_a_home_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    settings = Settings(home=home, chroma_dir=home / "chroma")
    async with open_engine(settings) as engine:
        file = await engine.back_up()
    with pytest.raises(InvalidInput, match="empty home only"):
        restore(store_place(settings), file)


async def test_what_is_not_in_a_backup_is_said(tmp_path: Path) -> None:
    settings = Settings(
        home=tmp_path / "home",
        chroma_dir=tmp_path / "chroma",
        redis_url="redis://localhost:1",
        docvec_db_path=tmp_path / "docvec",
    )
    async with open_engine(settings) as engine:
        file = await engine.back_up()
    restored = Settings(home=tmp_path / "restored", chroma_dir=tmp_path / "other")
    restored.home.mkdir()
    manifest = restore(store_place(restored), file)
    assert [line.partition(",")[0] for line in manifest["not_included"]] == [
        "the policy registry",
        "DocVec's index",
    ]
