"""Chroma outages: damaged, missing, locked, read-only, down or slow.

The store is not affected, a warning is logged, and the mirror recovers automatically."""

import logging
import os
import shutil
import signal
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from quinion.store.base import Selector
from quinion.store.chroma import process, replicator
from quinion.store.chroma.client import DATABASE, WRITER, Location
from quinion.store.embedded.store import EmbeddedStore
from quinion.store.factory import StorePlace, open_store
from tests.chroma_server import ChromaServer, chroma_server
from tests.contract.process import free_port
from tests.unit.store.chroma.chromas import (
    NAME,
    at_once,
    copy_home,
    count_entries,
    delete,
    eventually,
    make_vectors,
    mirror_of,
    mirrored_store,
    read_chroma,
    read_store,
    replicator_of,
    run_with,
    write,
)

Harm = Callable[[Path], object]
FEW = 20
MANY = 1_200
"""Enough records for Chroma to write its graph."""


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("few"), FEW)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("many"), MANY)


def fill(home: Path, records: int) -> Path:
    with mirrored_store(home) as store:
        write(store, *range(records))
        write(store, 0, name="others")
    return home


@pytest.fixture
def home(few: Path, tmp_path: Path) -> Path:
    """A home whose mirror is current."""
    return copy_home(few, tmp_path / "home")


@pytest.fixture(autouse=True)
def _soon(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicator, "QUIET_S", 0.05)
    monkeypatch.setattr(replicator, "RETRY_AFTER_S", 0.2)


def use(store: EmbeddedStore) -> None:
    """Use every operation of a store; none may wait for Chroma."""
    with at_once():
        before = store.count(Selector.everything(NAME))
        write(store, 5_000, 5_001)
        delete(store, 1)
        with store.transaction() as transaction:
            transaction.update_metadata(Selector.by_ids(NAME, ["id 2"]), {"kind": "new"})
        assert store.count(Selector.everything(NAME)) == before + 1
        assert store.search_vectors(NAME, make_vectors([5_000])[0], 1)[0].record.id == "id 5000"
        assert store.get(NAME, ids=["id 2"])[0].metadata["kind"] == "new"


def flip(path: Path, start: int, length: int) -> None:
    content = bytearray(path.read_bytes())
    content[start : start + length] = bytes(b ^ 0xFF for b in content[start : start + length])
    path.write_bytes(content)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def delete_folder(folder: Path) -> None:
    shutil.rmtree(folder)


def delete_database(folder: Path) -> None:
    (folder / DATABASE).unlink()


def cut_database(folder: Path) -> None:
    cut(folder / DATABASE)


def overwrite_database(folder: Path) -> None:
    (folder / DATABASE).write_bytes(b"something else " * 1_000)


def flip_head(folder: Path) -> None:
    flip(folder / DATABASE, 0, 100)


def flip_tenth(part: int, folder: Path) -> None:
    flip(folder / DATABASE, (folder / DATABASE).stat().st_size * part // 10, 2_000)


def replace_by_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("a file of somebody")


@pytest.mark.parametrize(
    "harm", [cut_database, pytest.param(overwrite_database, marks=pytest.mark.slow)]
)
def test_a_damaged_folder_is_moved_aside_and_filled_again(
    home: Path, caplog: pytest.LogCaptureFixture, harm: Harm
) -> None:
    harm(mirror_of(home))
    harmed = (mirror_of(home) / DATABASE).read_bytes()
    with mirrored_store(home) as store:
        use(store)
        ours = read_store(store)
    assert read_chroma(mirror_of(home)) == ours
    [aside] = mirror_of(home).glob("damaged-*")
    assert (aside / DATABASE).read_bytes() == harmed
    assert f"moved to {aside}; the mirror is rebuilt" in caplog.text
    with mirrored_store(home) as store:
        assert store.check(NAME).warnings == ()
        assert store.check(NAME).problems == ()
    assert list(mirror_of(home).glob("damaged-*")) == [aside]


def test_a_file_in_place_of_the_folder_is_renamed(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    replace_by_file(mirror_of(home))
    with mirrored_store(home) as store:
        use(store)
        ours = read_store(store)
    assert read_chroma(mirror_of(home)) == ours
    [aside] = home.glob("chroma.damaged-*")
    assert aside.read_text() == "a file of somebody"
    assert f"moved to {aside}" in caplog.text


@pytest.mark.slow
def test_a_store_inside_the_folder_and_the_files_of_others_are_not_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "volume"
    place = StorePlace(tmp_path / "home", folder / "store", folder)
    place.home.mkdir()

    def open_here() -> EmbeddedStore:
        store = open_store(place)
        assert isinstance(store, EmbeddedStore)
        return store

    with closing(open_here()) as store:
        write(store, *range(3))
    (folder / "notes.txt").write_text("of the user")
    (folder / "engine.lock").touch()
    cut_database(folder)
    with closing(open_here()) as store:
        use(store)
        ours = read_store(store)
    assert read_chroma(folder) == ours
    [aside] = folder.glob("damaged-*")
    assert not {"store", "notes.txt", "engine.lock", WRITER} & {p.name for p in aside.iterdir()}
    with closing(open_here()) as store:
        assert read_store(store) == ours


@pytest.mark.slow
@pytest.mark.parametrize(
    "harm",
    [delete_folder, delete_database, flip_head, *(partial(flip_tenth, n) for n in (2, 4, 6, 8))],
)
def test_the_mirror_recovers_from_any_database_damage(home: Path, harm: Harm) -> None:
    harm(mirror_of(home))
    check_recovery(home)


def flip_middle(path: Path) -> None:
    flip(path, path.stat().st_size // 2, 64)


def zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


@pytest.mark.slow
@pytest.mark.parametrize("harm", [flip_middle, zero, cut, Path.unlink])
@pytest.mark.parametrize(
    "name", ["data_level0.bin", "header.bin", "index_metadata.pickle", "link_lists.bin"]
)
def test_the_mirror_recovers_from_any_graph_damage(
    many: Path, tmp_path: Path, name: str, harm: Harm
) -> None:
    home = copy_home(many, tmp_path / "home")
    [large] = {path.parent for path in mirror_of(home).rglob("index_metadata.pickle")}
    assert (large / name).stat().st_size > 0
    harm(large / name)
    check_recovery(home)


def check_recovery(home: Path) -> None:
    with mirrored_store(home) as store:
        use(store)
    with mirrored_store(home) as store:
        # Detecting the damage may take two crashes of Chroma's process.
        eventually(lambda: not store.check(NAME, repair=True).warnings)
        assert store.check("others", repair=True).warnings == ()
        ours = read_store(store)
        assert store.check(NAME).problems == ()
    assert read_chroma(mirror_of(home)) == ours


@pytest.mark.slow
def test_a_folder_that_is_deleted_while_it_is_used_is_filled_again(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    check_recovery_while_running(home, delete_folder)
    assert "The Chroma mirror is behind" in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("harm", [cut_database, overwrite_database, replace_by_file])
def test_a_folder_that_is_damaged_while_it_is_used_is_filled_again(
    home: Path, caplog: pytest.LogCaptureFixture, harm: Harm
) -> None:
    check_recovery_while_running(home, harm)
    assert "damaged-" in caplog.text


def check_recovery_while_running(home: Path, harm: Harm) -> None:
    with mirrored_store(home) as store:
        write(store, 3_000)
        eventually(lambda: count_entries(store) == 0)
        harm(mirror_of(home))
        use(store)
        eventually(lambda: count_entries(store) == 0)
        ours = read_store(store)
    assert read_chroma(mirror_of(home)) == ours


@contextmanager
def hold_writer_lock(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, like another engine."""
    with closing(sqlite3.connect(folder / WRITER)) as theirs:
        theirs.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def hold_database(folder: Path) -> Iterator[None]:
    """Lock the database, like another program that writes."""
    with closing(sqlite3.connect(folder / DATABASE)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


@contextmanager
def make_read_only(folder: Path) -> Iterator[None]:
    """Link the folder to a read-only file system, because permissions do not restrict root."""
    away = folder.rename(folder.with_name("away"))
    folder.symlink_to("/proc/tty")
    yield
    folder.unlink()
    away.rename(folder)


@contextmanager
def lose_mount(folder: Path) -> Iterator[None]:
    away = folder.rename(folder.with_name("away"))
    folder.symlink_to(folder.with_name("mount") / "chroma")
    yield
    folder.unlink()
    away.rename(folder)


@contextmanager
def cannot_start(folder: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "COMMAND", (str(folder / "missing"),))
        yield


CAUSES = {
    "database is locked": hold_writer_lock,
    "unable to open database file": make_read_only,
    "File exists": lose_mount,
    "can't be started": cannot_start,
}


@pytest.mark.parametrize("words", CAUSES)
def test_a_folder_that_cannot_be_used_costs_a_warning_until_it_can(
    home: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    if words == "unable to open database file" and not Path("/proc/tty").is_dir():
        pytest.skip("there is no /proc here")
    monkeypatch.setattr(process, "COMMAND", run_with("client.LOCK_TIMEOUT_S = 0.2"))
    check_outage(home, CAUSES[words](mirror_of(home)), words, caplog)
    assert list(mirror_of(home).glob("damaged-*")) == []


@pytest.mark.slow
def test_a_database_that_is_locked_costs_a_warning_until_it_is_not(
    home: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "COMMAND", run_with("client.LOCK_TIMEOUT_S = 0.2"))
    check_outage(home, hold_database(mirror_of(home)), "database is locked", caplog)
    assert list(mirror_of(home).glob("damaged-*")) == []


def check_outage(
    home: Path,
    cause: AbstractContextManager[None],
    words: str,
    caplog: pytest.LogCaptureFixture,
    mirror: Location | None = None,
) -> None:
    """Open, use and close the store during the outage, and open it again afterwards."""
    with cause:
        with mirrored_store(home, mirror) as store:
            use(store)
            entries = count_entries(store)
            assert entries == 4
            eventually(lambda: words in caplog.text)
            report = store.check(NAME)
            assert report.problems == ()
            [warning] = report.warnings
            assert "The Chroma mirror is not current and is updated later" in warning
            assert words in warning
        # The same message is logged once, regardless of the number of attempts.
        assert len([one for one in caplog.messages if words in one]) == 1
    with mirrored_store(home, mirror) as store:
        assert count_entries(store) == entries
        ours = read_store(store)
    assert read_chroma(mirror or mirror_of(home)) == ours


def test_the_mirror_is_complete_again_when_the_cause_is_gone_while_the_store_is_open(
    home: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mirrored_store(home) as store:
        with lose_mount(mirror_of(home)):
            use(store)
            eventually(lambda: "The Chroma mirror is behind" in caplog.text)
        eventually(lambda: count_entries(store) == 0)
        assert store.check(NAME).warnings == ()
        ours = read_store(store)
    assert read_chroma(mirror_of(home)) == ours


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A home that mirrors to a server."""
    return tmp_path / "fresh"


def test_a_server_gets_the_same_as_a_folder(fresh: Path, tmp_path: Path) -> None:
    with chroma_server(tmp_path / "chroma") as server:
        with mirrored_store(fresh, server.url) as store:
            write(store, *range(4), extra=1)
            eventually(lambda: count_entries(store) == 0)
            use(store)
            write(store, 3)
            ours = read_store(store)
        assert read_chroma(server.url) == ours
    assert not mirror_of(fresh).exists()


@pytest.mark.slow
def test_a_server_that_is_down_costs_a_warning_until_it_is_there(
    fresh: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    port = free_port()
    with mirrored_store(fresh, f"http://127.0.0.1:{port}") as store:
        write(store, *range(3))
        use(store)
        eventually(lambda: "The Chroma mirror is behind" in caplog.text)
        [warning] = store.check(NAME).warnings
        assert f"127.0.0.1:{port}" in warning
        with chroma_server(tmp_path / "chroma", port) as server:
            eventually(lambda: count_entries(store) == 0)
            assert store.check(NAME).warnings == ()
            assert read_chroma(server.url) == read_store(store)


@pytest.mark.slow
@pytest.mark.parametrize("written", [True, False])
def test_a_server_that_was_restarted_empty_gets_everything_again(
    fresh: Path, tmp_path: Path, written: bool
) -> None:
    port = free_port()
    with mirrored_store(fresh, f"http://127.0.0.1:{port}") as store:
        write(store, *range(3))
        write(store, 0, name="others")
        with chroma_server(tmp_path / "first", port):
            eventually(lambda: count_entries(store) == 0)
        with chroma_server(tmp_path / "second", port) as server:
            if written:  # which notices it
                write(store, 4)
                eventually(lambda: count_entries(store) == 0)
                eventually(lambda: read_chroma(server.url) == read_store(store))
            else:  # the next start does
                ours = read_store(store)
                store.close()
                with mirrored_store(fresh, server.url) as again:
                    eventually(lambda: replicator_of(again)._compared)
                    assert read_chroma(server.url) == ours


@pytest.mark.slow
def test_a_server_that_stops_answering_costs_a_warning_until_it_answers(
    fresh: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "SERVER_TIMEOUT_S", 5.0)  # longer than its start

    @contextmanager
    def pause(server: ChromaServer) -> Iterator[None]:
        server.process.send_signal(signal.SIGSTOP)
        yield
        server.process.send_signal(signal.SIGCONT)

    with chroma_server(tmp_path / "chroma") as server:
        with mirrored_store(fresh, server.url) as store:
            write(store, *range(3))
        check_outage(fresh, pause(server), "timed out", caplog, server.url)
        with mirrored_store(fresh, server.url) as store:
            write(store, 7)
            eventually(lambda: count_entries(store) == 0)
            with pause(server):  # already connected
                write(store, 8)
                eventually(lambda: caplog.messages[-1:] and "timed out" in caplog.messages[-1])
            eventually(lambda: count_entries(store) == 0)
            assert read_chroma(server.url) == read_store(store)


def test_a_server_that_accepts_and_never_answers_does_not_keep_a_store_from_closing(
    fresh: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, socket.create_server(("127.0.0.1", 0)) as silent:
        patch.setattr(replicator, "CLOSE_S", 1.0)
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with at_once(), mirrored_store(fresh, address) as store:
            write(store, 1)
    assert "The Chroma mirror is behind" in caplog.text
    assert caplog.records[-1].levelno == logging.WARNING
    with mirrored_store(fresh) as store:
        assert count_entries(store) == 1
        ours = read_store(store)
    assert read_chroma(mirror_of(fresh)) == ours
