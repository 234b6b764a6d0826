"""Database connections: bounded pool, actionable errors, and no self-deadlock of a thread."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from quinion.errors import StoreUnavailable
from quinion.model.record import Record
from quinion.store.base import Selector
from quinion.store.embedded.database import FILE, READERS, is_damage
from tests.unit.store.stores import open_store, records, vectors, write


def test_many_readers_share_few_connections(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write(store, "c", [Record(str(n), "text " * 100, {}) for n in range(1_000)], vectors(1_000))
    before = psutil.Process().num_fds()
    with ThreadPoolExecutor(4 * READERS) as threads:
        for found in threads.map(lambda _: store.get("c"), range(8 * READERS)):
            assert len(found) == 1_000
    # Each has the database and its log open; the vectors are one file.
    assert psutil.Process().num_fds() - before <= 2 * READERS


@pytest.mark.parametrize("on_disk", [True, False])
def test_a_second_transaction_of_a_thread_is_refused_instead_of_waiting_for_ever(
    tmp_path: Path, on_disk: bool
) -> None:
    store = open_store(tmp_path if on_disk else None)
    with store.transaction() as transaction:
        transaction.set_value("a", "1")
        with pytest.raises(RuntimeError, match="transaction open"), store.transaction():
            pass
    assert store.values() == {"a": "1"}


def test_a_read_within_a_transaction_in_memory_is_refused_instead_of_waiting_for_ever() -> None:
    store = open_store(None)
    with store.transaction() as transaction:
        transaction.set_value("a", "1")
        with pytest.raises(RuntimeError, match="transaction open"):
            store.values()
    assert store.values() == {"a": "1"}


def test_a_file_that_is_no_database_is_damage(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"not a database" * 1_000)
    with pytest.raises(StoreUnavailable, match=r"is damaged.*quinion rebuild"):
        open_store(tmp_path)


def test_a_folder_that_can_not_be_made_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable, match=r"file/store.*failed"):
        open_store(tmp_path / "file" / "store")


def test_a_database_that_another_program_locks_is_written_to_later(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write(store, "c", records(3))
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store._database._writer.execute("PRAGMA busy_timeout=0")  # else it waits for five seconds
    try:
        assert store.count(Selector.everything("c")) == 3
        with pytest.raises(StoreUnavailable, match=r"failed: database is locked"):
            write(store, "c", records(4))
    finally:
        other.close()
    write(store, "c", records(4))
    assert store.count(Selector.everything("c")) == 4


def test_damage_is_distinguished_from_transient_errors() -> None:
    for code, damage in (
        (sqlite3.SQLITE_CORRUPT, True),
        (sqlite3.SQLITE_NOTADB, True),
        (sqlite3.SQLITE_CORRUPT | 1 << 8, True),
        (sqlite3.SQLITE_FULL, False),
        (sqlite3.SQLITE_BUSY, False),
    ):
        error = sqlite3.OperationalError()
        error.sqlite_errorcode = code
        assert is_damage(error) is damage
    assert is_damage(sqlite3.OperationalError("Could not decode to UTF-8"))
    assert not is_damage(OSError())
