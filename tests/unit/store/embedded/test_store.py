"""Embedded store: copy-on-write slots, and deletion of files of dropped collections."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from quinion.errors import StoreUnavailable
from quinion.store.base import Selector
from quinion.store.embedded.database import FILE
from quinion.store.embedded.store import EmbeddedStore
from tests.unit.store.stores import DIMENSIONS, MODEL, open_store, records, vectors, write

WIDTH = DIMENSIONS * 4
"""Bytes of a vector in its file."""
EVERYTHING = Selector.everything("c")


def vectors_file(folder: Path) -> Path:
    [path] = folder.glob("*.vectors")
    return path


def used(folder: Path) -> int:
    """Return the number of slots ever written."""
    rows = np.fromfile(vectors_file(folder), np.float32).reshape(-1, DIMENSIONS)
    return int(np.flatnonzero(rows.any(axis=1)).max()) + 1


def read_slots(store: EmbeddedStore) -> list[float]:
    """Return the first number of each vector, which identifies it."""
    return [float(vector[0]) for vector in store.get_with_vectors(EVERYTHING)[1]]


def write_numbers(store: EmbeddedStore, *numbers: float) -> None:
    """Write records with these numbers as their vectors."""
    given = np.zeros((len(numbers), DIMENSIONS), np.float32)
    given[:, 0] = numbers
    write(store, "c", records(len(numbers)), given)


def test_a_rolled_back_transaction_changes_no_byte_of_a_committed_vector(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write(store, "c", records(50), vectors(50))
    before = vectors_file(tmp_path).read_bytes()[: 50 * WIDTH]
    with pytest.raises(KeyError), store.transaction() as transaction:
        transaction.upsert("c", records(50), vectors(50, seed=2), MODEL)
        transaction.delete(Selector.by_ids("c", ["id 1", "id 2"]))
        transaction.upsert("c", records(5, prefix="new"), vectors(5, seed=3), MODEL)
        raise KeyError
    assert vectors_file(tmp_path).read_bytes()[: 50 * WIDTH] == before
    np.testing.assert_array_equal(store.get_with_vectors(EVERYTHING)[1], vectors(50))


def test_a_killed_transaction_changes_no_byte_of_a_committed_vector(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write(store, "c", records(50), vectors(50))
    store.close()
    before = vectors_file(tmp_path).read_bytes()[: 50 * WIDTH]
    run_and_die(
        tmp_path,
        "with store.transaction() as transaction:\n"
        "    transaction.upsert('c', records(50), vectors(50, seed=2), MODEL)\n"
        "    die()",
    )
    assert vectors_file(tmp_path).read_bytes()[: 50 * WIDTH] == before
    again = open_store(tmp_path)
    np.testing.assert_array_equal(again.get_with_vectors(EVERYTHING)[1], vectors(50))
    assert again.check("c").problems == ()


def test_a_slot_is_not_used_again_by_the_transaction_that_freed_it(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write_numbers(store, 1, 2, 3)
    with store.transaction() as transaction:
        transaction.delete(Selector.by_ids("c", ["id 0", "id 1", "id 2"]))
        given = np.full((3, DIMENSIONS), 9, np.float32)
        transaction.upsert("c", records(3, prefix="new"), given, MODEL)
    rows = np.fromfile(vectors_file(tmp_path), np.float32).reshape(-1, DIMENSIONS)
    assert rows[:6, 0].tolist() == [1, 2, 3, 9, 9, 9]


def test_freed_slots_are_used_again(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for turn in range(20):
        write(store, "c", records(300, prefix=str(turn)), vectors(300))
        with store.transaction() as transaction:
            some = [f"{turn} {n}" for n in range(299)]
            assert transaction.delete(Selector.by_ids("c", some)) == 299
    assert store.count(EVERYTHING) == 20
    assert used(tmp_path) == 319  # 19 records that are left, and 300 new ones
    assert store.check("c").problems == ()


def test_records_that_are_replaced_again_and_again_take_twice_their_slots(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for turn in range(20):
        write(store, "c", records(50), vectors(50, seed=turn))
    assert used(tmp_path) == 100


def test_freed_slots_are_used_again_after_it_was_opened_again(tmp_path: Path) -> None:
    for turn in range(5):
        store = open_store(tmp_path)
        write(store, "c", records(50), vectors(50, seed=turn))
        store.close()
    assert used(tmp_path) == 100


def test_freed_slots_are_not_used_while_an_older_snapshot_is_read(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write_numbers(store, 1, 2, 3)
    with store._read() as database:
        assert database.execute("SELECT count(*) FROM records").fetchone() == (3,)
        for number in range(10, 50, 10):
            write_numbers(store, number, number + 1, number + 2)
        rows = np.fromfile(vectors_file(tmp_path), np.float32).reshape(-1, DIMENSIONS)
        assert rows[:3, 0].tolist() == [1, 2, 3]
        slots = [slot for (slot,) in database.execute("SELECT slot FROM records ORDER BY number")]
        assert slots == [0, 1, 2]
    assert read_slots(store) == [40, 41, 42]
    # The reader is closed, so the slots can be reclaimed.
    end = used(tmp_path)
    for number in range(50, 100, 10):
        write_numbers(store, number, number + 1, number + 2)
    assert used(tmp_path) == end
    assert read_slots(store) == [90, 91, 92]
    assert store.check("c").problems == ()


def test_the_files_of_a_dropped_collection_are_deleted_after_its_last_reader(
    tmp_path: Path,
) -> None:
    store = open_store(tmp_path)
    write(store, "c", records(3))
    path = vectors_file(tmp_path)
    with store._read() as database:
        database.execute("SELECT 1 FROM records").fetchone()
        with store.transaction() as transaction:
            transaction.delete(EVERYTHING)
        assert path.exists()
        assert database.execute("SELECT count(*) FROM records").fetchone() == (3,)
        write(store, "c", records(5), vectors(5))
    assert not path.exists()
    assert store.count(EVERYTHING) == 5


def test_a_recreated_collection_gets_a_new_file(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write(store, "c", records(3))
    with store.transaction() as transaction:
        transaction.delete(EVERYTHING)
    assert list(tmp_path.glob("*.vectors")) == []
    with store.transaction() as transaction:
        transaction.upsert("c", records(2), np.eye(2, 5, dtype=np.float32), MODEL)
    np.testing.assert_array_equal(store.get_with_vectors(EVERYTHING)[1], np.eye(2, 5))
    assert len(list(tmp_path.glob("*.vectors"))) == 1


def test_files_of_a_collection_that_was_dropped_just_before_a_kill_are_deleted(
    tmp_path: Path,
) -> None:
    store = open_store(tmp_path)
    write(store, "kept", records(3))
    write(store, "c", records(3))
    store.close()
    run_and_die(
        tmp_path,
        "store._vectors.drop = lambda number: die()\n"
        "with store.transaction() as transaction:\n"
        "    transaction.delete(Selector.everything('c'))",
    )
    assert len(list(tmp_path.glob("*.vectors"))) == 2
    again = open_store(tmp_path)
    assert again.collections() == ["kept"]
    assert len(list(tmp_path.glob("*.vectors"))) == 1
    assert again.check("kept").problems == ()


def test_files_that_the_store_never_made_are_left_alone(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write(store, "c", records(3))
    store.close()
    for name in ("99.vectors", "notes.vectors", "notes.txt"):
        (tmp_path / name).write_text("of another program")
    open_store(tmp_path).close()
    assert {path.name for path in tmp_path.iterdir()} >= {
        *("99.vectors", "notes.vectors", "notes.txt", "1.vectors", FILE)
    }


def test_vectors_without_a_database_are_refused_as_lost(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write(store, "c", records(3))
    store.close()
    before = vectors_file(tmp_path).read_bytes()
    (tmp_path / FILE).unlink()
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=rf"{FILE} is missing.*quinion restore"):
            open_store(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["1.vectors"]
    assert vectors_file(tmp_path).read_bytes() == before


def test_memory_keeps_nothing_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_store(None)
    write(store, "c", records(3))
    assert store.count(EVERYTHING) == 3
    assert list(tmp_path.iterdir()) == []


def test_only_the_owner_reads_the_folder(tmp_path: Path) -> None:
    store = open_store(tmp_path / "a" / "store")
    write(store, "c", records(3))
    assert (tmp_path / "a" / "store").stat().st_mode & 0o777 == 0o700
    assert vectors_file(tmp_path / "a" / "store").stat().st_mode & 0o777 == 0o600


def test_a_write_into_a_file_that_is_gone_is_no_write(tmp_path: Path) -> None:
    """What was committed can be read: the vectors are on the disk before the records are."""
    calls: list[str] = []
    store = open_store(tmp_path)
    write(store, "c", records(3))
    fsync = os.fsync

    def fail(descriptor: int) -> None:
        calls.append("fsync")
        raise OSError(5, "Input/output error")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(StoreUnavailable, match="Input/output error"):
            write(store, "c", records(5), vectors(5, seed=2))
    assert os.fsync is fsync
    assert calls == ["fsync"]
    assert store.count(EVERYTHING) == 3
    np.testing.assert_array_equal(store.get_with_vectors(EVERYTHING)[1], vectors(3))
    write(store, "c", records(5), vectors(5, seed=2))
    assert store.count(EVERYTHING) == 5


def run_and_die(folder: Path, statements: str) -> None:
    """Run code on the store of a folder in a process that kills itself with `die`."""
    program = f"""
import os, signal
from pathlib import Path
from quinion.store.base import Selector
from tests.unit.store.stores import MODEL, open_store, records, vectors, write
def die():
    os.kill(os.getpid(), signal.SIGKILL)
store = open_store(Path({str(folder)!r}))
{statements}
"""
    root = Path(__file__).parents[4]
    ended = subprocess.run([sys.executable, "-c", program], cwd=root, check=False)
    assert ended.returncode == -signal.SIGKILL
