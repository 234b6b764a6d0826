"""Replicator: what other programs find in Chroma, and when."""

import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quinion.errors import StoreUnavailable
from quinion.model.record import Record
from quinion.store.base import Selector
from quinion.store.chroma import process, replicator
from quinion.store.chroma.client import DATABASE
from quinion.store.embedded.outbox import Outbox
from quinion.store.embedded.store import EmbeddedStore
from quinion.store.factory import StorePlace, open_store
from tests.unit.store.chroma.chromas import (
    DIMENSIONS,
    MODEL,
    NAME,
    Call,
    at_once,
    count_entries,
    delete,
    eventually,
    find_processes,
    make_records,
    make_vectors,
    mirror_of,
    mirrored_store,
    other_program,
    read_chroma,
    read_store,
    replicator_of,
    watch_calls,
    write,
)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    return watch_calls(monkeypatch)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replicate immediately instead of after some seconds."""
    monkeypatch.setattr(replicator, "QUIET_S", 0.05)


@pytest.fixture
def never(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replicate nothing before the store is closed."""
    monkeypatch.setattr(replicator, "QUIET_S", 600.0)


def set_metadata(store: EmbeddedStore, number: int, **values: Any) -> None:
    with store.transaction() as transaction:
        transaction.update_metadata(Selector.by_ids(NAME, [f"id {number}"]), values)


def drop(store: EmbeddedStore, name: str = NAME) -> None:
    with store.transaction() as transaction:
        transaction.delete(Selector.everything(name))


@pytest.mark.slow
def test_after_a_clean_close_chroma_equals_the_store(tmp_path: Path) -> None:
    with mirrored_store(tmp_path) as store:
        write(store, *range(6), kind="old", extra=True)
        write(store, 0, name="other.name-1")
        set_metadata(store, 1, kind="newer", page=2.5)
    with mirrored_store(tmp_path) as store:
        write(store, 2, kind="replaced")  # and without the key `extra`
        set_metadata(store, 3, kind="updated")
        delete(store, 4)
        ours = read_store(store)
    assert read_chroma(mirror_of(tmp_path)) == ours
    assert ours[NAME].model == MODEL
    assert ours[NAME].metadata == {
        "id 0": {"n": 0, "kind": "old", "extra": True},
        "id 1": {"n": 1, "kind": "newer", "extra": True, "page": 2.5},
        "id 2": {"n": 2, "kind": "replaced"},
        "id 3": {"n": 3, "kind": "updated", "extra": True},
        "id 5": {"n": 5, "kind": "old", "extra": True},
    }


@pytest.mark.slow
def test_a_collection_that_is_dropped_and_written_again_has_its_new_dimensions(
    tmp_path: Path,
) -> None:
    with mirrored_store(tmp_path) as store:
        write(store, *range(4))
        write(store, 0, name="dropped")
    with mirrored_store(tmp_path) as store:
        drop(store)
        drop(store, "dropped")
        with store.transaction() as transaction:
            records, vectors = make_records(1, 7), make_vectors([1, 7], DIMENSIONS * 2)
            transaction.upsert(NAME, records, vectors, "another model")
        ours = read_store(store)
    theirs = read_chroma(mirror_of(tmp_path))
    assert theirs == ours
    assert theirs.keys() == {NAME}
    assert theirs[NAME].model == "another model"
    assert len(theirs[NAME].records["id 1"][1]) == DIMENSIONS * 2


def test_it_is_there_within_seconds_while_the_store_is_open(
    tmp_path: Path, soon: None, calls: list[Call]
) -> None:
    with mirrored_store(tmp_path) as store:
        with at_once():
            write(store, 1, 2)
            delete(store, 2)
        eventually(lambda: count_entries(store) == 0)
        assert read_chroma(mirror_of(tmp_path)) == read_store(store)
        write(store, 3)
        eventually(lambda: count_entries(store) == 0)
        assert read_chroma(mirror_of(tmp_path)) == read_store(store)
        assert [call.collection for call in calls if call.method == "apply"] == [NAME, NAME]


def test_a_store_that_is_written_to_all_the_time_is_mirrored_when_it_is_far_ahead(
    tmp_path: Path, never: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicator, "FAR_BEHIND", 4)
    with mirrored_store(tmp_path) as store:
        write(store, 1, 2, 3)
        assert count_entries(store) == 3
        write(store, 4)
        eventually(lambda: count_entries(store) == 0)


def test_large_changes_are_sent_in_steps(
    tmp_path: Path, calls: list[Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicator, "STEP", 2)
    with mirrored_store(tmp_path) as store:
        write(store, *range(5))
        ours = read_store(store)
    assert [len(call.written) for call in calls if call.method == "apply"] == [2, 2, 1]
    assert read_chroma(mirror_of(tmp_path)) == ours


def test_records_changed_during_replication_are_replicated_again(
    tmp_path: Path, soon: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(call: Call) -> None:
        if call.method == "apply" and not changed:
            changed.append(True)
            write(store, 0, kind="second")
            delete(store, 1)
            set_metadata(store, 2, kind="second")
            write(store, 3)

    changed: list[bool] = []
    calls = watch_calls(monkeypatch, change)
    with mirrored_store(tmp_path) as store:
        write(store, 0, 1, 2, kind="first")
        eventually(lambda: changed and count_entries(store) == 0)
        ours = read_store(store)
        assert read_chroma(mirror_of(tmp_path)) == ours
    assert len([call for call in calls if call.method == "apply"]) == 2
    assert ours[NAME].metadata == {
        "id 0": {"n": 0, "kind": "second"},
        "id 2": {"n": 2, "kind": "second"},
        "id 3": {"n": 3},
    }


def test_a_write_between_a_look_at_the_outbox_and_going_to_sleep_is_not_forgotten(
    tmp_path: Path, soon: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = Outbox.count
    with mirrored_store(tmp_path) as store:
        write(store, 0)
        eventually(lambda: count_entries(store) == 0 and (mirror_of(tmp_path) / DATABASE).exists())
        written: list[int] = []

        def look_and_write(self: Outbox) -> dict[str, int]:
            found = look(self)
            in_background = threading.current_thread().name == "replicator"
            if in_background and not found and not written:
                written.append(1)
                write(store, 1)
            return found

        monkeypatch.setattr(Outbox, "count", look_and_write)
        write(store, 2)
        eventually(lambda: written)
        eventually(lambda: not look(store.outbox), within_s=20)


DIES = """
import os, signal, sys
from pathlib import Path
from tests.unit.store.chroma.chromas import *
from tests.unit.store.chroma.test_replicator import set_metadata
with mirrored_store(Path(sys.argv[1])) as store:
    delete(store, 0)
    write(store, 1, kind="replaced")
    set_metadata(store, 2, kind="updated")
    write(store, 4)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_the_next_process_replicates_the_changes_of_a_killed_one(tmp_path: Path) -> None:
    with mirrored_store(tmp_path) as store:
        write(store, *range(4), kind="old", extra=1)
    before = read_chroma(mirror_of(tmp_path))
    ended = subprocess.run([sys.executable, "-c", DIES, str(tmp_path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert read_chroma(mirror_of(tmp_path)) == before
    with mirrored_store(tmp_path) as store:
        assert count_entries(store) == 4
        ours = read_store(store)
    assert read_chroma(mirror_of(tmp_path)) == ours
    assert ours[NAME].metadata == {
        "id 1": {"n": 1, "kind": "replaced"},
        "id 2": {"n": 2, "kind": "updated", "extra": 1},
        "id 3": {"n": 3, "kind": "old", "extra": 1},
        "id 4": {"n": 4},
    }


@pytest.mark.slow
def test_records_of_other_programs_and_their_collections_are_left_alone(
    tmp_path: Path,
) -> None:
    with mirrored_store(tmp_path) as store:
        write(store, 0, 1)
    with other_program(mirror_of(tmp_path)) as client:
        theirs = client.create_collection("theirs", embedding_function=None)
        theirs.upsert(ids=["a"], documents=["text"], embeddings=[[1.0, 2.0]])
        vector = make_vectors([9]).tolist()
        client.get_collection(NAME).upsert(ids=["b"], documents=["text"], embeddings=vector)
    with mirrored_store(tmp_path) as store:
        write(store, 2)
        [warning] = store.check(NAME, repair=True).warnings
        assert "1 records that the store does not have" in warning
        assert "quinion import chroma" in warning
        delete(store, 0)
    found = read_chroma(mirror_of(tmp_path))
    assert found.keys() == {NAME, "theirs"}
    assert found[NAME].records.keys() == {"b", "id 1", "id 2"}
    assert found["theirs"].records.keys() == {"a"}


@pytest.mark.slow
def test_a_difference_is_reported_and_repaired(tmp_path: Path) -> None:
    with mirrored_store(tmp_path) as store:
        write(store, *range(4))
    with other_program(mirror_of(tmp_path)) as client:
        collection = client.get_collection(NAME)
        collection.delete(ids=["id 0"])
        collection.update(ids=["id 1"], metadatas=[{"theirs": 1}])
        collection.update(ids=["id 2"], embeddings=make_vectors([5]).tolist())
    with mirrored_store(tmp_path) as store:
        report = store.check(NAME)
        assert report.problems == ()
        [warning] = report.warnings
        assert "lacks 3 records or has other versions of them, id 0" in warning
        assert "quinion verify --repair" in warning
        assert store.check(NAME, repair=True).warnings == ()
        assert store.check(NAME).warnings == ()
        ours = read_store(store)
    assert read_chroma(mirror_of(tmp_path)) == ours


def test_a_mirror_that_was_never_filled_is_reported_as_such_and_filled_by_a_repair(
    tmp_path: Path, never: None
) -> None:
    with mirrored_store(tmp_path, mirrored=False) as store:
        write(store, 0, 1)
    with mirrored_store(tmp_path) as store:
        [warning] = store.check(NAME).warnings
        assert "has not been filled yet" in warning
        assert store.check(NAME, repair=True).warnings == ()
        ours = read_store(store)
    assert read_chroma(mirror_of(tmp_path)) == ours


def test_a_check_ignores_pending_changes(tmp_path: Path, never: None) -> None:
    with mirrored_store(tmp_path) as store:
        write(store, 0, 1)
        assert store.check(NAME).warnings == ()


class TestAHomeThatIsOnlyRead:
    @pytest.fixture
    def home(self, tmp_path: Path) -> Path:
        """A home whose mirror is current."""
        with mirrored_store(tmp_path) as store:
            write(store, 0, 1, 2)
        return tmp_path

    @pytest.fixture(autouse=True)
    def _soon(self, home: Path, soon: None) -> None:
        pass

    def test_starts_no_process_of_chroma(self, home: Path, calls: list[Call]) -> None:
        with mirrored_store(home) as store:
            assert len(store.get(NAME)) == 3
            assert len(store.search_vectors(NAME, make_vectors([0])[0], 2)) == 2
        assert calls == []
        with mirrored_store(home):  # nor does closing require a check at the next start
            pass
        assert calls == []

    @pytest.mark.parametrize(
        "change",
        [
            "delete",
            "older",
            pytest.param("touch", marks=pytest.mark.slow),
            pytest.param("delete database", marks=pytest.mark.slow),
        ],
    )
    def test_starts_it_when_the_folder_is_not_as_it_was(self, home: Path, change: str) -> None:
        folder = mirror_of(home)
        if change == "touch":
            os.utime(folder / DATABASE)
        elif change == "delete":
            remove(folder)
        elif change == "delete database":
            (folder / DATABASE).unlink()
        else:
            with other_program(folder) as client:
                client.get_collection(NAME).delete(ids=["id 1"])
        with mirrored_store(home) as store:
            eventually(lambda: find_processes(folder))
            eventually(lambda: is_current(store))
            ours = read_store(store)
        with mirrored_store(home) as store:
            assert is_current(store)
        assert read_chroma(folder) == ours

    @pytest.mark.parametrize("read", [True, pytest.param(False, marks=pytest.mark.slow)])
    def test_starts_it_when_the_folder_was_deleted_before_the_last_close(
        self, home: Path, read: bool
    ) -> None:
        with mirrored_store(home) as store:
            write(store, 3)
            eventually(lambda: count_entries(store) == 0)
            remove(mirror_of(home))
            if read:  # by another program, whose Chroma makes an empty one
                assert read_chroma(mirror_of(home)) == {}
        with mirrored_store(home) as store:
            eventually(lambda: is_current(store))
            ours = read_store(store)
        assert read_chroma(mirror_of(home)) == ours


def is_current(store: EmbeddedStore) -> bool:
    """Whether the mirror was compared and is complete. Opening Chroma for this check while it is
    being created could make both fail."""
    return replicator_of(store)._compared and count_entries(store) == 0


def is_replicating() -> bool:
    return any(thread.name == "replicator" for thread in threading.enumerate())


def remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


class TestTheMirrorThatIsOff:
    @pytest.fixture(autouse=True)
    def _soon(self, soon: None) -> None:
        pass

    def test_has_no_outbox_no_folder_and_no_process(
        self, tmp_path: Path, calls: list[Call]
    ) -> None:
        with mirrored_store(tmp_path, mirrored=False) as store:
            write(store, 0, 1)
            set_metadata(store, 0, kind="new")
            delete(store, 1)
            drop(store)
            assert count_entries(store) == 0
            assert not is_replicating()
            assert store.check(NAME).warnings == ()
        assert calls == []
        assert not mirror_of(tmp_path).exists()

    def test_is_filled_when_it_is_switched_on(self, tmp_path: Path) -> None:
        with mirrored_store(tmp_path, mirrored=False) as store:
            write(store, 0, 1)
        with mirrored_store(tmp_path) as store:
            eventually(lambda: is_current(store))
            ours = read_store(store)
        assert read_chroma(mirror_of(tmp_path)) == ours

    @pytest.mark.slow
    def test_changes_made_while_it_was_off_are_replicated_later(self, tmp_path: Path) -> None:
        with mirrored_store(tmp_path) as store:
            write(store, *range(4), kind="old")
            write(store, 0, name="dropped")
        before = read_chroma(mirror_of(tmp_path))
        with mirrored_store(tmp_path, mirrored=False) as store:
            write(store, 0, 4, kind="new")
            delete(store, 1)
            set_metadata(store, 2, kind="new")
            drop(store, "dropped")
        assert read_chroma(mirror_of(tmp_path)) == before
        with mirrored_store(tmp_path) as store:
            ours = read_store(store)
        assert read_chroma(mirror_of(tmp_path)) == ours

    def test_gets_later_what_was_written_while_it_was_off_where_it_was_empty_before(
        self, tmp_path: Path
    ) -> None:
        with mirrored_store(tmp_path) as store:
            eventually(lambda: is_current(store))
        with mirrored_store(tmp_path, mirrored=False) as store:
            write(store, 0)
        with mirrored_store(tmp_path) as store:
            ours = read_store(store)
        assert read_chroma(mirror_of(tmp_path)) == ours

    def test_a_store_in_memory_has_none(self, tmp_path: Path, calls: list[Call]) -> None:
        store = open_store(StorePlace(tmp_path, None))
        assert isinstance(store, EmbeddedStore)
        write(store, 0)
        assert count_entries(store) == 0
        store.close()
        assert calls == []
        assert list(tmp_path.iterdir()) == []


class TestClosing:
    def test_closing_replicates_briefly_and_leaves_the_rest_to_the_next_start(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(replicator, "CLOSE_S", 0.0)
            with mirrored_store(tmp_path) as store:
                write(store, *range(4))
        with mirrored_store(tmp_path) as store:
            assert count_entries(store) == 4
            ours = read_store(store)
        assert read_chroma(mirror_of(tmp_path)) == ours

    @pytest.mark.slow
    def test_ends_between_two_steps(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        sent: list[Call] = []

        def run_out(call: Call) -> None:
            if call.method == "apply":
                sent.append(call)
                eventually(lambda: vars(replicator_of(store)._chroma)["_is_closed"])

        watch_calls(monkeypatch, after=run_out)
        monkeypatch.setattr(replicator, "STEP", 1)
        monkeypatch.setattr(replicator, "CLOSE_S", 5.0)
        with mirrored_store(tmp_path) as store:
            write(store, *range(4))
        assert len(sent) == 1
        assert "replication resumes at the next start" in caplog.text
        monkeypatch.undo()
        with mirrored_store(tmp_path) as store:
            assert count_entries(store) == 3
            ours = read_store(store)
        assert read_chroma(mirror_of(tmp_path)) == ours

    @pytest.mark.slow
    def test_does_not_wait_for_a_call_that_never_ends(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        never_answers = (sys.executable, "-c", "import time; time.sleep(600)")
        with monkeypatch.context() as patch:
            patch.setattr(process, "COMMAND", never_answers)
            patch.setattr(replicator, "CLOSE_S", 0.5)
            with at_once(), mirrored_store(tmp_path) as store:
                write(store, 0)
        assert find_processes(mirror_of(tmp_path)) == []
        assert "timed out" in caplog.text
        with mirrored_store(tmp_path) as store:
            ours = read_store(store)
        assert read_chroma(mirror_of(tmp_path)) == ours

    def test_moves_nothing_aside_because_the_time_is_over(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, soon: None
    ) -> None:
        with mirrored_store(tmp_path) as store:
            write(store, 0)
        never_answers = (sys.executable, "-c", "import time; time.sleep(600)")
        monkeypatch.setattr(process, "COMMAND", never_answers)
        monkeypatch.setattr(process, "TIMEOUT_S", 0.3)
        monkeypatch.setattr(replicator, "RETRY_AFTER_S", 600.0)
        with mirrored_store(tmp_path) as store:
            write(store, 1)
            eventually(lambda: replicator_of(store)._failure)
            monkeypatch.setattr(process, "TIMEOUT_S", 600.0)
            monkeypatch.setattr(replicator, "CLOSE_S", 0.3)
        assert (mirror_of(tmp_path) / DATABASE).exists()
        assert list(mirror_of(tmp_path).glob("damaged-*")) == []


def test_the_thread_survives_a_failure_of_the_store(
    tmp_path: Path,
    soon: None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(replicator, "RETRY_AFTER_S", 0.05)
    failures: list[Exception] = [StoreUnavailable("disk I/O error"), IndexError("out of bounds")]
    look = Outbox.count

    def fail(self: Outbox) -> dict[str, int]:
        if failures and threading.current_thread().name == "replicator":
            raise failures.pop()
        return look(self)

    monkeypatch.setattr(Outbox, "count", fail)
    with mirrored_store(tmp_path) as store:
        write(store, 0)
        eventually(lambda: count_entries(store) == 0)
        ours = read_store(store)
    assert "disk I/O error" in caplog.text
    assert "out of bounds" in caplog.text
    assert read_chroma(mirror_of(tmp_path)) == ours


@pytest.mark.slow
def test_copies_are_fetched_from_the_mirror_and_none_where_it_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with mirrored_store(tmp_path) as store:
        write(store, 0, 1)
    with mirrored_store(tmp_path) as store:
        found = replicator_of(store).fetch(NAME, ["id 1", "id 7"])
        assert found.keys() == {"id 1"}
        assert found["id 1"][0] == Record("id 1", "text 1", {"n": 1})
        assert np.array_equal(found["id 1"][1], make_vectors([1])[0])
    with mirrored_store(tmp_path) as store:
        monkeypatch.setattr(process, "COMMAND", (str(tmp_path / "missing"),))
        assert replicator_of(store).fetch(NAME, ["id 1"]) == {}
    assert "The mirror can't be read" in caplog.text


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(("write", "delete", "set", "drop", "send", "reopen", "off")),
        st.integers(0, 3),
        st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), min_size=1),
    ),
    max_size=14,
)


@pytest.mark.slow
@pytest.mark.timeout(900)
@settings(
    # Few examples: each starts Chroma processes, which takes seconds on a slow machine.
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(changes=CHANGES)
def test_both_have_the_same_in_the_end(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, int, dict[str, int]]]
) -> None:
    home = tmp_path_factory.mktemp("mirror")
    stores = open_and_close(home)
    store = next(stores)
    for do, number, metadata in changes:
        match do:
            case "write":
                with store.transaction() as transaction:
                    record = Record(f"id {number}", f"{metadata}", metadata)
                    transaction.upsert(NAME, [record], make_vectors([number]), MODEL)
            case "delete":
                delete(store, number)
            case "set":
                set_metadata(store, number, **metadata)
            case "drop":
                drop(store)
            case "send":
                store.check(NAME)
            case _:
                store = stores.send(do != "off")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replicator, "QUIET_S", 0.05)
        store = stores.send(True)
        eventually(partial(is_current, store))
        ours = read_store(store)
        stores.close()
    theirs = read_chroma(mirror_of(home))
    # Chroma need not know of a collection that was always empty.
    assert {name: copy for name, copy in theirs.items() if copy.records} == {
        name: copy for name, copy in ours.items() if copy.records
    }


def open_and_close(home: Path) -> Any:
    """A generator of stores: `send` closes the last one and opens another, mirrored or not."""
    mirrored = True
    while True:
        with mirrored_store(home, mirrored=mirrored) as store:
            mirrored = yield store
