"""Backup: a consistent snapshot of a home during writes."""

import lzma
import shutil
import tarfile
from functools import partial
from pathlib import Path

import anyio
import numpy as np
import pytest

from quinion.backup import restore
from quinion.concurrency import in_thread
from quinion.embed.local.weights import prepare
from quinion.engine import Engine, open_engine
from quinion.errors import BadSetting, InvalidInput
from quinion.home import hold_home, store_place
from quinion.model.record import Record
from quinion.servers.registry import CATALOG
from quinion.settings import Settings
from quinion.store.base import Selector
from quinion.store.chroma.replicator import NOT_FILLED
from quinion.store.collections import Write
from quinion.store.factory import RESTORING
from tests import home_v1
from tests.home_v1 import FIXTURES

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
        await engine.collections.write(partial(write_document, owner, 0, turn))
        done.append(owner)
        if turn % 3 == 1:
            await engine.collections.write(partial(write_document, owner, 1, turn + 9_999))
        if turn % 4 == 3:
            await engine.collections.delete(
                [Selector.by_values("things", owner=f"owner {turn - 2}")]
            )


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


@pytest.mark.slow
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
            for record in await engine.collections.get("things"):
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


@pytest.mark.slow
@pytest.mark.parametrize("moves_done", [0, 1, 2])
async def test_an_interrupted_restore_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves_done: int
) -> None:
    home = tmp_path / "home"
    settings = Settings(home=home, chroma_dir=home / "chroma", mirror="off")
    async with open_engine(settings) as engine:
        await engine.collections.write(partial(write_document, "a", 0, 1))
        (home / "library").mkdir()
        (home / "library" / "original").write_text("kept")
        file = await engine.back_up()
    restored = Settings(home=tmp_path / "restored", chroma_dir=tmp_path / "volume", mirror="off")
    restored.home.mkdir()
    (restored.home / "own notes").write_text("not of quinion")
    move, left = shutil.move, moves_done

    def killed(source: Path, target: Path) -> None:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        move(source, target)

    monkeypatch.setattr(shutil, "move", killed)
    if moves_done < 2:
        with pytest.raises(KeyboardInterrupt):
            restore(store_place(restored), file)
    else:  # killed before the note is deleted
        restore(store_place(restored), file)
        (restored.home / RESTORING).write_text('["library", "../volume/store"]')
        (restored.home / "restoring-abc").mkdir()
    monkeypatch.undo()
    with pytest.raises(BadSetting, match="restore was interrupted"):
        async with open_engine(restored):
            pass
    restore(store_place(restored), file)
    names = {path.name for path in restored.home.iterdir()} - {"engine.lock"}
    assert names == {"library", "own notes"}
    async with open_engine(restored) as engine:
        assert await engine.collections.count(Selector.everything("things")) == SIZE


@pytest.mark.slow
async def test_a_note_cut_short_deletes_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    settings = Settings(home=home, chroma_dir=home / "chroma", mirror="off")
    async with open_engine(settings) as engine:
        await engine.collections.write(partial(write_document, "a", 0, 1))
        file = await engine.back_up()
    (home / RESTORING).write_text('["sto')
    with pytest.raises(InvalidInput, match="empty home only"):
        restore(store_place(settings), file)
    async with open_engine(settings) as engine:
        assert await engine.collections.count(Selector.everything("things")) == SIZE


async def test_files_missing_from_a_backup_are_reported(tmp_path: Path) -> None:
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


# Homes with content for each server, and their expected answers.


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    prepare(folder)
    return folder


@pytest.fixture(scope="module")
def old_backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup created by quinion 0.1."""
    file = tmp_path_factory.mktemp("backup") / "backup_v1.tar"
    with lzma.open(FIXTURES / "backup_v1.tar.xz") as packed:
        file.write_bytes(packed.read())
    return file


async def check_everything(settings: Settings) -> None:
    """Assert that all records, vectors, policies and answers are correct and verify passes."""
    async with open_engine(settings) as engine:
        assert home_v1.read_content(engine.store) == home_v1.expected_content()
        assert await home_v1.ask(engine) == home_v1.EXPECTED_ANSWERS
        assert len(engine.store.values("policy followed ")) == 2
        for server in CATALOG:
            report = await home_v1.call(engine, server, "verify", {})
            assert (server, report["problems"]) == (server, [])
            assert set(report["warnings"]) <= {NOT_FILLED}
    registry = home_v1.EXPECTED["policies"], home_v1.EXPECTED["revisions"]
    assert home_v1.read_registry(settings.home) == registry


def find_stores(folder: Path) -> list[Path]:
    return [path.parent for path in folder.rglob("store.db")]


def restore_to(settings: Settings, file: Path) -> None:
    with hold_home(settings):
        restore(store_place(settings), file)


@pytest.mark.parametrize("is_elsewhere", [False, pytest.param(True, marks=pytest.mark.slow)])
async def test_a_backup_of_quinion_0_1_is_restored(
    old_backup: Path, models: Path, tmp_path: Path, is_elsewhere: bool
) -> None:
    home, volume = tmp_path / "home", tmp_path / "volume"
    place = {"chroma_dir": volume} if is_elsewhere else {}
    settings = home_v1.settings_of(home, models, **place)
    restore_to(settings, old_backup)
    await check_everything(settings)
    await check_everything(settings)
    assert find_stores(tmp_path) == [(volume if is_elsewhere else home) / "store"]
    assert not (home / "ledger").exists()


@pytest.mark.slow
async def test_a_backup_of_a_migrated_home_is_restored_elsewhere(
    models: Path, tmp_path: Path
) -> None:
    home = home_v1.unpack(tmp_path / "home")
    async with open_engine(home_v1.settings_of(home, models)) as engine:
        file = await engine.back_up()
    with tarfile.open(file) as archive:
        names = archive.getnames()
    assert not [name for name in names if name.startswith(("backups", "chroma", "ledger"))]
    settings = home_v1.settings_of(tmp_path / "other", models, chroma_dir=tmp_path / "volume")
    restore_to(settings, file)
    assert not (tmp_path / "other" / "store").exists()
    await check_everything(settings)


async def test_a_volume_inside_the_home_is_copied_once(models: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    settings = home_v1.settings_of(home, models, chroma_dir=home / "vectors")
    async with open_engine(settings) as engine:
        await engine.collections.write(partial(write_document, "a", 0, 1))
        file = await engine.back_up()
    with tarfile.open(file) as archive:
        assert sorted(archive.getnames()) == ["manifest.json", "store/1.vectors", "store/store.db"]
    restored = restore_into(tmp_path / "restored", file)
    async with open_engine(restored) as engine:
        assert await engine.collections.count(Selector.everything("things")) == SIZE


@pytest.mark.slow
async def test_a_store_in_memory_cannot_be_backed_up_or_restored(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", chroma_in_memory=True, workers=1)
    async with open_engine(settings) as engine:
        await engine.collections.write(partial(write_document, "a", 0, 1))
        with pytest.raises(InvalidInput, match="in memory"):
            await engine.back_up()
        assert await engine.collections.count(Selector.everything("things")) == SIZE
    assert not await in_thread(lambda: list((settings.home / "backups").iterdir()))
    with pytest.raises(InvalidInput, match="in memory"):
        restore(store_place(settings), tmp_path / "backup.tar")


@pytest.mark.slow
async def test_writes_go_on_after_a_backup(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", mirror="off", workers=1)
    async with open_engine(settings) as engine:
        for turn in range(3):
            await engine.back_up()
            await engine.collections.write(partial(write_document, f"owner {turn}", 0, turn))
        assert await engine.collections.count(Selector.everything("things")) == 3 * SIZE
    assert len(list((settings.home / "backups").iterdir())) == 3
