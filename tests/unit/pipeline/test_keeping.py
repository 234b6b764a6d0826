"""A backup of a home that is being written to is one of a single moment."""

from pathlib import Path

import anyio
import numpy as np
import pytest

from quinion.errors import InvalidInput
from quinion.model.record import Record
from quinion.pipeline.engine import Change, Engine, ledger_folder, open_engine
from quinion.pipeline.keeping import restore
from quinion.settings import Settings
from quinion.store.chroma import Place
from quinion.store.journal import Trace

pytestmark = pytest.mark.anyio

SIZE = 8
"""Records of a document, each of which is whole or not there."""


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
    """Add, replace and remove documents, each in two steps where that can be."""
    for turn in range(10_000):
        owner = f"owner {turn}"
        records, vectors = make_records(owner, 0), make_vectors(turn)
        async with engine.writing([Trace.of("things", owner=owner)]) as writer:
            await writer.upsert("things", records[:4], vectors[:4])
            await writer.upsert("things", records[4:], vectors[4:])
        done.append(owner)
        if turn % 3 == 1:
            change = Change(
                Trace.of("things", owner=owner), make_records(owner, 1), make_vectors(turn + 9_999)
            )
            await engine.replace([change])
        if turn % 4 == 3:
            await engine.remove([Trace.of("things", owner=f"owner {turn - 2}")])


def restore_into(home: Path, file: Path) -> Settings:
    settings = Settings(home=home, chroma_dir=home / "chroma")
    home.mkdir()
    place = Place(settings.chroma_folder)
    folder = ledger_folder(home, place)
    assert folder
    restore(settings, file, folder, str(place))
    return settings


async def test_each_document_is_whole_or_not_there(tmp_path: Path) -> None:
    home = tmp_path / "home"
    files: list[tuple[set[str], Path]] = []
    done: list[str] = []
    async with open_engine(Settings(home=home, chroma_dir=home / "chroma")) as engine:
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
            proof = await engine.verify("things", repair=True)
            assert not proof.problems
            assert all("Chroma does not have it" in line for line in proof.mended)


async def test_a_home_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    settings = Settings(home=home, chroma_dir=home / "chroma")
    async with open_engine(settings) as engine:
        file = await engine.back_up()
    place = Place(settings.chroma_folder)
    folder = ledger_folder(home, place)
    assert folder
    with pytest.raises(InvalidInput, match="empty home only"):
        restore(settings, file, folder, str(place))


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
    manifest = restore(restored, file, restored.home / "ledger" / "x", "other")
    assert [line.partition(",")[0] for line in manifest["not_included"]] == [
        "the policy registry",
        "DocVec's index",
    ]
