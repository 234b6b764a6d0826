"""Chroma client on a real folder and on addresses, in this process."""

import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from quinion.model.record import Record
from quinion.store.chroma import client as module
from quinion.store.chroma.client import (
    DATABASE,
    MODEL_KEY,
    ChromaClient,
    is_damaged,
)
from tests.chroma_server import ChromaServer, chroma_server
from tests.contract.process import free_port
from tests.unit.store.chroma.chromas import (
    MODEL,
    NAME,
    hang_up,
    make_records,
    make_vectors,
    other_program,
    read_chroma,
)

NONE = make_vectors([])


@contextmanager
def open_client(folder: Path) -> Iterator[ChromaClient]:
    client = ChromaClient(folder)
    try:
        yield client
    finally:
        client.close()
        client._writer_lock.close()  # the end of Chroma's process does that


@pytest.fixture
def client(tmp_path: Path) -> Iterator[ChromaClient]:
    with open_client(tmp_path) as client:
        yield client


def put(client: ChromaClient, *numbers: int) -> None:
    client.apply(NAME, MODEL, [], make_records(*numbers), make_vectors(numbers))


def test_another_program_finds_the_applied_changes(tmp_path: Path) -> None:
    with open_client(tmp_path) as client:
        put(client, 0, 1, 2)
        written = [Record("id 1", "new text", {"k": "new"}), *make_records(3)]
        client.apply(NAME, MODEL, ["id 0"], written, make_vectors([1, 3]))
    found = read_chroma(tmp_path)[NAME]
    assert found.model == MODEL
    assert {id_: record for id_, (record, _) in found.records.items()} == {
        "id 1": Record("id 1", "new text", {"k": "new"}),
        "id 2": Record("id 2", "text 2", {"n": 2}),
        "id 3": Record("id 3", "text 3", {"n": 3}),
    }
    vectors = [found.records[f"id {n}"][1] for n in (1, 2, 3)]
    assert vectors == make_vectors([1, 2, 3]).tolist()


def test_a_collection_is_created_by_writing_and_not_by_looking(client: ChromaClient) -> None:
    assert client.count(NAME) == 0
    assert client.page(NAME, 0) == {}
    assert client.fetch(NAME, ["id 0"]) == {}
    client.drop(NAME)
    assert client.collections() == {}
    put(client, 0)
    put(client, 1)
    assert client.collections() == {NAME: MODEL}
    client.drop(NAME)
    assert client.collections() == {}


def test_the_mark_of_the_model_is_added_to_what_another_program_keeps_of_a_collection(
    tmp_path: Path,
) -> None:
    with other_program(tmp_path) as theirs:
        theirs.create_collection(NAME, metadata={"owner": "them"}, embedding_function=None)
    with open_client(tmp_path) as client:
        put(client, 0)
        client.apply(NAME, "", [], make_records(1), make_vectors([1]))  # of an unknown model
    with other_program(tmp_path) as theirs:
        assert theirs.get_collection(NAME).metadata == {"owner": "them", MODEL_KEY: MODEL}


def test_a_record_without_metadata_can_be_written(client: ChromaClient) -> None:
    client.apply(NAME, MODEL, [], [Record("bare", "", {})], make_vectors([0]))
    [(record, vector)] = client.fetch(NAME, ["bare"]).values()
    assert record == Record("bare", "", {})
    assert np.array_equal(vector, make_vectors([0])[0])


def test_records_come_in_pages(client: ChromaClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 2)
    put(client, 0, 1, 2)
    assert [*client.page(NAME, 0)] == ["id 0", "id 1"]
    assert [*client.page(NAME, 2)] == ["id 2"]
    assert client.page(NAME, 3) == {}


def test_records_whose_vectors_are_lost_are_left_out_and_the_others_are_fetched(
    tmp_path: Path,
) -> None:
    with open_client(tmp_path) as client:
        put(client, *range(10))
    lose_vectors(tmp_path, "id 3", "id 8")
    with open_client(tmp_path) as client:
        found = client.fetch(NAME, [f"id {n}" for n in range(12)])
        page = client.page(NAME, 0)
    assert sorted(found) == [f"id {n}" for n in (0, 1, 2, 4, 5, 6, 7, 9)]
    assert np.array_equal(found["id 9"][1], make_vectors([9])[0])
    assert [id_ for id_, copy in page.items() if copy is None] == ["id 3", "id 8"]


def lose_vectors(folder: Path, *ids: str) -> None:
    """Delete vectors from the queue table, the only copy of Chroma's last thousand records."""
    with closing(sqlite3.connect(folder / DATABASE)) as database, database:
        database.executemany("DELETE FROM embeddings_queue WHERE id = ?", [(one,) for one in ids])


def test_a_folder_that_another_process_writes_is_waited_for_and_then_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOCK_TIMEOUT_S", 0.2)
    with open_client(tmp_path), pytest.raises(sqlite3.OperationalError, match="locked"):
        ChromaClient(tmp_path)
    with open_client(tmp_path) as client:
        assert client.collections() == {}


def cut(folder: Path) -> None:
    path = folder / DATABASE
    os.truncate(path, path.stat().st_size // 2)


def overwrite(folder: Path) -> None:
    (folder / DATABASE).write_bytes(b"something else " * 1000)


def flip_bits(folder: Path) -> None:
    path = folder / DATABASE
    content = bytearray(path.read_bytes())
    content[4096 * 2 : 4096 * 3] = bytes(byte ^ 0x55 for byte in content[4096 * 2 : 4096 * 3])
    path.write_bytes(content)


@pytest.mark.parametrize("harm", [cut, overwrite, flip_bits])
def test_a_damaged_database_is_found(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    with open_client(tmp_path) as client:
        put(client, *range(100))
    assert not is_damaged(tmp_path, "a failure", 1)
    harm(tmp_path)
    assert is_damaged(tmp_path, "a failure", 0)


def test_a_graph_is_damaged_where_chroma_names_it_or_its_process_died_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_client(tmp_path) as client:
        put(client, 0)
    assert not is_damaged(tmp_path, "EOFError()", 1)
    assert is_damaged(tmp_path, "EOFError()", 2)
    assert is_damaged(tmp_path, "Error loading hnsw index", 0)
    monkeypatch.setattr(module, "FULL_DISK_BYTES", sys.maxsize)  # the disk may be full
    assert not is_damaged(tmp_path, "EOFError()", 2)
    assert not is_damaged(tmp_path, "Error loading hnsw index", 0)


def test_a_locked_database_or_a_missing_folder_is_not_taken_for_damage(tmp_path: Path) -> None:
    with open_client(tmp_path) as client:
        put(client, 0)
    with closing(sqlite3.connect(tmp_path / DATABASE)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert not is_damaged(tmp_path, "database is locked", 2)
    assert not is_damaged(tmp_path / "missing", "a failure", 2)


def test_a_file_in_place_of_the_folder_is_damage_and_a_lost_mount_is_not(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.touch()
    link.symlink_to(tmp_path / "mount" / "chroma")
    assert is_damaged(file, "File exists", 0)
    assert not is_damaged(link, "File exists", 2)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    with chroma_server(tmp_path_factory.mktemp("chroma")) as server:
        yield server


def test_a_server_is_used_in_the_same_way(server: ChromaServer) -> None:
    client = ChromaClient(server.url)
    put(client, 0, 1)
    assert client.count(NAME) == 2
    assert client.collections() == {NAME: MODEL}
    found = client.fetch(NAME, ["id 1", "id 2"])
    hang_up(client._client)
    assert list(found) == ["id 1"]
    assert list(read_chroma(server.url)[NAME].records) == ["id 0", "id 1"]


def test_a_server_that_is_down_is_an_error_at_once() -> None:
    with pytest.raises(Exception, match="connect"):
        ChromaClient(f"http://127.0.0.1:{free_port()}")
