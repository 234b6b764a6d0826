"""Home identity: every path to a home's folder opens the same store.

The home was created by quinion 0.1, so its answers are known.
"""

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from quinion.concurrency import in_thread
from quinion.embed.local.weights import prepare
from quinion.engine import Engine, open_engine
from quinion.errors import BadSetting, HomeInUse, RegistryUnavailable, StoreUnavailable
from quinion.home import hold_home, make_private, store_place
from quinion.servers.registry import CATALOG
from quinion.settings import Settings
from quinion.store.embedded.schema import VERSION
from tests import home_v1
from tests.home_v1 import EXPECTED, EXPECTED_ANSWERS, ask, call, settings_of

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
DOCVEC = "docvec"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    prepare(folder)
    return folder


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Path:
    """A home of this version, with its mirror."""
    home = home_v1.unpack(tmp_path_factory.mktemp("migrated") / "home")

    async def open_it() -> None:
        async with open_engine(settings_of(home, models)):
            pass

    anyio.run(open_it)
    return home


@pytest.fixture
def home(migrated: Path, tmp_path: Path) -> Path:
    return shutil.copytree(migrated, tmp_path / "a" / "home")


def find_stores(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.rglob("store.db"))


async def ask_at(settings: Settings) -> list[Any]:
    async with open_engine(settings) as engine:
        return await ask(engine)


async def check_everything(settings: Settings) -> None:
    """Assert that all records, vectors, policies and answers are correct."""
    async with open_engine(settings) as engine:
        assert home_v1.read_content(engine.store) == home_v1.expected_content()
        assert await ask(engine) == EXPECTED_ANSWERS
        for server in CATALOG:
            report = await call(engine, server, "verify", {})
            assert (server, report["problems"]) == (server, [])
    registry = EXPECTED["policies"], EXPECTED["revisions"]
    assert home_v1.read_registry(settings.home) == registry


# Paths to one home.


async def test_a_moved_home_answers_the_same(home: Path, tmp_path: Path, models: Path) -> None:
    assert await ask_at(settings_of(home, models)) == EXPECTED_ANSWERS
    moved = tmp_path / "moved"
    shutil.move(home, moved)
    await check_everything(settings_of(moved, models))
    assert find_stores(tmp_path) == [moved / "store"]


@pytest.mark.slow
async def test_a_copied_home_answers_the_same(home: Path, tmp_path: Path, models: Path) -> None:
    copy = shutil.copytree(home, tmp_path / "copy")
    shutil.rmtree(home)
    await check_everything(settings_of(copy, models))


def by_symlink(home: Path) -> Path:
    link = home.parent.parent / "link"
    link.symlink_to(home)
    return link


def by_symlink_above(home: Path) -> Path:
    link = home.parent.parent / "link"
    link.symlink_to(home.parent)
    return link / home.name


def by_dots(home: Path) -> Path:
    return home.parent / ".." / home.parent.name / home.name


WAYS = [
    by_symlink,
    pytest.param(by_symlink_above, marks=pytest.mark.slow),
    pytest.param(by_dots, marks=pytest.mark.slow),
]


@pytest.mark.parametrize("lead", WAYS)
async def test_every_path_leads_to_the_same_store(
    lead: Callable[[Path], Path], home: Path, tmp_path: Path, models: Path
) -> None:
    path = lead(home)
    assert path != home
    async with open_engine(settings_of(path, models)) as engine:
        assert await ask(engine) == EXPECTED_ANSWERS
        await engine.collections.write(lambda write: write.set_value("written through", str(path)))
    async with open_engine(settings_of(home, models)) as engine:
        assert engine.store.values("written") == {"written through": str(path)}
        assert await ask(engine) == EXPECTED_ANSWERS
    assert find_stores(tmp_path) == [home / "store"]


@pytest.mark.slow
@pytest.mark.parametrize("lead", WAYS)
async def test_the_chroma_folder_of_the_home_may_be_named_by_any_path(
    lead: Callable[[Path], Path], home: Path, models: Path
) -> None:
    """CHROMA_PERSIST_DIR names the home's own folder: the store is where it was."""
    await check_everything(settings_of(home, models, chroma_dir=lead(home) / "chroma"))
    await check_everything(settings_of(lead_again(home), models, chroma_dir=home / "chroma"))
    assert find_stores(home) == [home / "store"]


def lead_again(home: Path) -> Path:
    link = home.with_name("again")
    link.symlink_to(home)
    return link


async def test_another_name_for_chroma_folder_of_a_new_home_makes_no_second_store(
    tmp_path: Path,
) -> None:
    home, link = tmp_path / "home", tmp_path / "link"
    home.mkdir()
    link.symlink_to(home)
    for chroma in (home / "chroma", link / "chroma"):
        place = store_place(Settings(home=home, chroma_dir=chroma))
        assert place.folder == home / "store"


@pytest.mark.parametrize("lead", WAYS)
async def test_a_second_engine_is_refused_by_any_path(
    lead: Callable[[Path], Path], home: Path, models: Path
) -> None:
    path = lead(home)
    async with open_engine(settings_of(home, models, mirror="off")):
        with pytest.raises(HomeInUse, match=str(os.getpid())):
            async with open_engine(settings_of(path, models, mirror="off")):
                pass
    async with open_engine(settings_of(path, models, mirror="off")) as engine:
        assert await ask(engine) == EXPECTED_ANSWERS


async def test_two_homes_on_one_volume_are_refused_by_any_path(
    tmp_path: Path, models: Path
) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    (tmp_path / "link").symlink_to(volume)
    one = settings_of(tmp_path / "one", models, chroma_dir=volume, mirror="off")
    two = settings_of(tmp_path / "two", models, chroma_dir=tmp_path / "link", mirror="off")
    async with open_engine(one):
        with pytest.raises(HomeInUse, match="link"):
            async with open_engine(two):
                pass
    async with open_engine(two):
        pass


@pytest.mark.slow
async def test_a_home_without_its_chroma_folder_answers_the_same(home: Path, models: Path) -> None:
    shutil.rmtree(home / "chroma")
    await check_everything(settings_of(home, models))
    async with open_engine(settings_of(home, models)) as engine:  # the mirror is complete again
        for server in CATALOG:
            assert (await call(engine, server, "verify", {}))["warnings"] == []


# Other mounts.

SCRIPT = """
import json, sys
from pathlib import Path
import anyio
from quinion.errors import QuinionError
from quinion.engine import open_engine
from tests.home_v1 import ask, settings_of

async def main(home, models):
    async with open_engine(settings_of(home, models)) as engine:
        return await ask(engine)

try:
    answers = anyio.run(main, Path(sys.argv[1]), Path(sys.argv[2]))
except QuinionError as error:
    answers = [error.code, error.message]
print(json.dumps(answers))
"""
NAMESPACE = ["unshare", "--map-root-user", "--mount"]


def can_mount() -> bool:
    """Whether a process may create private mounts here."""
    if shutil.which("unshare") is None:
        return False
    probe = [*NAMESPACE, "mount", "--bind", "/tmp", "/tmp"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def ask_mounted(mount: str, home: Path, target: Path, models: Path) -> Any:
    """Return the answers of a process with the home mounted elsewhere by this command."""
    command = f'{mount} && exec "$@"'
    program = [sys.executable, "-c", SCRIPT, str(target), str(models)]
    ended = subprocess.run(
        [*NAMESPACE, "sh", "-c", command, str(home), *program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.skipif(not can_mount(), reason="mounting is not allowed here")
def test_a_home_on_another_mount_is_the_same(home: Path, tmp_path: Path, models: Path) -> None:
    other = tmp_path / "mounted"
    other.mkdir()
    mount = f"mount --bind '{home}' '{other}'"
    assert ask_mounted(mount, home, other, models) == EXPECTED_ANSWERS
    assert find_stores(tmp_path) == [home / "store"]


@pytest.mark.skipif(not can_mount(), reason="mounting is not allowed here")
def test_an_unwritable_home_is_refused_with_advice(
    home: Path, tmp_path: Path, models: Path
) -> None:
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*")}
    mount = f"mount --bind '{home}' '{home}' && mount -o remount,ro,bind '{home}'"
    code, message = ask_mounted(mount, home, home, models)
    assert code == BadSetting.code
    assert str(home) in message
    assert "Read-only file system" in message
    assert "QUINION_HOME" in message
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == before


# CHROMA_PERSIST_DIR.


async def ingest(engine: Engine, folder: Path) -> None:
    """Ingest a text into DocVec and a document into the Document Store."""
    from tests.documents import PROSE, text_pdf

    (folder / "notes.md").write_text("# Bees\n\nThe hive behind the barn has two queens.\n")
    letter = text_pdf(folder / "Letter.pdf", PROSE)
    answer = await call(engine, DOCVEC, "index_file", {"file_path": str(folder / "notes.md")})
    assert answer["success"], answer
    arguments = {"file_path": str(letter), "application_ref": "A"}
    answer = await call(engine, "document-store", "ingest_document", arguments)
    assert answer["status"] == "success", answer


async def ask_both(engine: Engine) -> tuple[Any, Any]:
    arguments = {"query": "planning permission", "max_results": 3}
    documents = await home_v1.search(engine, "document-store", "search_application_docs", arguments)
    notes = await home_v1.search(engine, DOCVEC, "search", {"query": "two queens", "n_results": 3})
    return documents, notes


async def test_a_volume_is_self_contained(tmp_path: Path, models: Path) -> None:
    volume = tmp_path / "volume"
    async with open_engine(settings_of(tmp_path / "one", models, chroma_dir=volume)) as engine:
        await ingest(engine, tmp_path)
        answers = await ask_both(engine)
    assert all(answers)
    assert find_stores(tmp_path) == [volume / "store"]
    assert (volume / "chroma.sqlite3").exists()
    shutil.rmtree(tmp_path / "one")
    volume = Path(shutil.move(volume, tmp_path / "moved"))
    async with open_engine(settings_of(tmp_path / "two", models, chroma_dir=volume)) as engine:
        assert await ask_both(engine) == answers
    assert find_stores(tmp_path) == [volume / "store"]


@pytest.mark.slow
async def test_a_damaged_mirror_on_a_volume_does_not_touch_what_else_is_there(
    tmp_path: Path, models: Path
) -> None:
    """The store is inside of the folder whose Chroma files are moved aside."""
    volume = tmp_path / "volume"
    settings = settings_of(tmp_path / "one", models, chroma_dir=volume)
    async with open_engine(settings) as engine:
        await ingest(engine, tmp_path)
        answers = await ask_both(engine)
    (volume / "of another program").write_text("x")
    (volume / "chroma.sqlite3").write_bytes(b"no database" * 1_000)
    async with open_engine(settings) as engine:
        assert await ask_both(engine) == answers
        report = await call(engine, DOCVEC, "verify", {})
        assert report["problems"] == []
    names = {path.name.partition("-")[0] for path in volume.iterdir()}
    assert {"store", "of another program", "chroma.sqlite3", "damaged"} <= names
    async with open_engine(settings) as engine:
        assert await ask_both(engine) == answers


@pytest.mark.slow
async def test_an_empty_variable_keeps_everything_in_memory(tmp_path: Path, models: Path) -> None:
    variables = {"QUINION_HOME": str(tmp_path / "home"), "CHROMA_PERSIST_DIR": ""}
    settings = Settings.from_environment(variables).model_copy(update={"models": models})
    async with open_engine(settings) as engine:
        await ingest(engine, tmp_path)
        assert all(await ask_both(engine))
    assert {path.name for path in settings.home.iterdir()} <= {"engine.lock", "policies.db"}
    async with open_engine(settings) as engine:
        assert engine.store.collections() == []


@pytest.mark.slow
async def test_the_store_of_a_home_stays_when_the_variable_is_set_to_empty(
    home: Path, models: Path
) -> None:
    before = (home / "store" / "store.db").read_bytes()
    settings = settings_of(home, models, chroma_dir=None, chroma_in_memory=True)
    async with open_engine(settings) as engine:
        assert engine.store.collections() == []
    assert (home / "store" / "store.db").read_bytes() == before
    assert await ask_at(settings_of(home, models)) == EXPECTED_ANSWERS


# Homes of other versions.


@pytest.mark.parametrize(
    ("name", "mirror"),
    [
        ("of another path", "on"),
        pytest.param("0088f9ac", "on", marks=pytest.mark.slow),
        pytest.param("0088f9ac", "off", marks=pytest.mark.slow),
    ],
)
async def test_a_home_of_quinion_0_1_opens_with_all_that_it_has(
    tmp_path: Path, models: Path, name: str, mirror: str
) -> None:
    home = home_v1.unpack(tmp_path / "home")
    (home / home_v1.LEDGER).rename(home / "ledger" / name)
    settings = settings_of(home, models, mirror=mirror)
    await check_everything(settings)
    backups = list((home / "backups").iterdir())
    await check_everything(settings)
    assert list((home / "backups").iterdir()) == backups  # migrated only once
    assert find_stores(home) == [home / "store"]


@pytest.mark.slow
async def test_a_home_with_two_ledgers_is_not_opened(tmp_path: Path, models: Path) -> None:
    home = home_v1.unpack(tmp_path / "home")
    other = shutil.copytree(home / home_v1.LEDGER, home / "ledger" / "12345678")
    with pytest.raises(StoreUnavailable, match=r"ledger/0088f9ac \(.*ledger/12345678 \("):
        async with open_engine(settings_of(home, models)):
            pass
    assert not (home / "store").exists()
    shutil.rmtree(other)
    await check_everything(settings_of(home, models))


async def test_a_store_of_a_newer_quinion_is_refused(home: Path, models: Path) -> None:
    set_version(home / "store" / "store.db", 99)
    with pytest.raises(StoreUnavailable, match=r"newer quinion \(schema 99; .* up to \d+\)"):
        async with open_engine(settings_of(home, models)):
            pass
    set_version(home / "store" / "store.db", VERSION)
    assert await ask_at(settings_of(home, models)) == EXPECTED_ANSWERS


async def test_a_registry_of_a_newer_quinion_is_refused(home: Path, models: Path) -> None:
    set_version(home / "policies.db", 99)
    async with open_engine(settings_of(home, models, mirror="off")) as engine:
        with pytest.raises(RegistryUnavailable, match=r"policies\.db .*newer quinion \(schema 99"):
            CATALOG["policy-kb"].load().build(engine)
        assert await home_v1.search(engine, **without_results(EXPECTED["searches"][0]))


def without_results(search: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in search.items() if key != "results"}


def set_version(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version={version}")


# Permissions. `tests/unit/cli/test_private.py` checks a run of all servers.


def modes(folder: Path) -> dict[str, int]:
    found = [folder, *folder.rglob("*")]
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode)
        for path in found
        if not path.is_symlink()
    }


def test_a_home_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "folder" / "inner").mkdir(parents=True)
    for name in ("store.db", "folder/file", "folder/inner/file"):
        (home / name).write_text("x")
        (home / name).chmod(0o644)
    (home / "folder" / "script").write_text("x")
    (home / "folder" / "script").chmod(0o755)
    outside = tmp_path / "outside"
    outside.write_text("x")
    outside.chmod(0o644)
    (home / "link").symlink_to(outside)
    home.chmod(0o755)
    make_private(home)
    assert modes(home) == {
        ".": 0o700,
        "folder": 0o700,
        "folder/inner": 0o700,
        "folder/inner/file": 0o600,
        "folder/file": 0o600,
        "folder/script": 0o700,
        "store.db": 0o600,
    }
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644


def test_what_is_written_while_a_home_is_held_is_private(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with hold_home(Settings(home=tmp_path / "home", chroma_dir=tmp_path / "volume")):
            (tmp_path / "home" / "file").write_text("x")
            (tmp_path / "home" / "folder").mkdir()
        assert os.umask(0o022) == 0o022  # as it was
    finally:
        os.umask(before)
    assert modes(tmp_path / "home") == {
        ".": 0o700,
        "engine.lock": 0o600,
        "file": 0o600,
        "folder": 0o700,
    }
    assert modes(tmp_path / "volume") == {".": 0o700, "engine.lock": 0o600}


async def test_a_home_of_quinion_0_1_becomes_private(tmp_path: Path, models: Path) -> None:
    home = home_v1.unpack(tmp_path / "home")
    assert modes(home)["chroma/chroma.sqlite3"] == 0o644
    async with open_engine(settings_of(home, models)) as engine:
        await in_thread(engine.store.check, "policy_docs")
        await engine.back_up()
        found = modes(home)
    for name, mode in {**found, **modes(home)}.items():
        assert (name, mode) == (name, 0o700 if (home / name).is_dir() else 0o600)
