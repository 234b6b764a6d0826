"""Import of another program's Chroma data into a store."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quinion.errors import StoreUnavailable
from quinion.model.record import Record
from quinion.store.base import Selector
from quinion.store.chroma import client, importer, process
from quinion.store.chroma.client import DATABASE, MODEL_KEY, ChromaClient
from quinion.store.chroma.importer import Imported, ImportReport, import_chroma
from quinion.store.embedded.store import EmbeddedStore
from quinion.store.factory import StorePlace
from quinion.store.rebuild import import_into
from tests.chroma_server import chroma_server
from tests.contract.process import free_port
from tests.unit.store.chroma.chromas import (
    DIMENSIONS,
    MODEL,
    NAME,
    make_records,
    make_vectors,
    mirror_of,
    mirrored_store,
    other_program,
    read_chroma,
    read_store,
    run_with,
    write,
)

REQUIRED = {NAME: frozenset({"n"}), "lines": frozenset({"n", "kind"})}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A Chroma that another program writes to."""
    return tmp_path / "theirs"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    with closing(EmbeddedStore(tmp_path / "store")) as store:
        yield store


@pytest.fixture
def _in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the client without a separate process, which is slow to start."""
    monkeypatch.setattr(importer, "open_chroma", OpenClient)


in_process = pytest.mark.usefixtures("_in_process")


class OpenClient(ChromaClient):
    def close(self) -> None:
        super().close()
        self._writer_lock.close()


def add(
    source: Path | str, *numbers: int, name: str = NAME, mark: str = "", **metadata: Any
) -> None:
    """Write records like another program."""
    records = make_records(*numbers, **metadata)
    with other_program(source) as theirs:
        collection = theirs.get_or_create_collection(
            name, embedding_function=None, metadata={MODEL_KEY: mark} if mark else None
        )
        collection.upsert(
            ids=[record.id for record in records],
            documents=[record.text for record in records],
            metadatas=[record.metadata for record in records],
            embeddings=make_vectors(numbers),
        )


def one(imported: int) -> ImportReport:
    return ImportReport({NAME: Imported(imported)})


def test_the_records_of_the_contract_are_imported_as_they_are(
    source: Path, store: EmbeddedStore
) -> None:
    add(source, *range(5))
    add(source, 1, 2, name="lines", kind="line")
    before = read_chroma(source)
    report = import_chroma(store, source, REQUIRED)
    assert report == ImportReport({"lines": Imported(2), NAME: Imported(5)})
    assert read_store(store) == before
    assert {name: store.model(name) for name in store.collections()} == {"lines": "", NAME: ""}
    assert store.search_vectors(NAME, make_vectors([3])[0], 1)[0].record.id == "id 3"
    assert [one.id for one in store.get(NAME, where={"n": 4})] == ["id 4"]
    assert store.check(NAME).problems == ()
    assert read_chroma(source) == before


@in_process
def test_a_second_run_imports_nothing(source: Path, store: EmbeddedStore) -> None:
    add(source, *range(3))
    import_chroma(store, source, REQUIRED)
    before = read_store(store)
    assert import_chroma(store, source, REQUIRED) == ImportReport({NAME: Imported(present=3)})
    assert read_store(store) == before


@in_process
def test_what_the_store_has_is_kept_and_what_differs_is_counted(
    source: Path, store: EmbeddedStore
) -> None:
    write(store, 0, 1, kind="ours")
    add(source, 0, kind="ours")
    add(source, 1, 2, kind="theirs")
    report = import_chroma(store, source, REQUIRED)
    assert report == ImportReport({NAME: Imported(1, present=2, different=1)})
    assert read_store(store)[NAME].metadata == {
        "id 0": {"n": 0, "kind": "ours"},
        "id 1": {"n": 1, "kind": "ours"},
        "id 2": {"n": 2, "kind": "theirs"},
    }
    assert store.model(NAME) == MODEL


@in_process
def test_records_that_lack_required_metadata_are_named_and_left_out(
    source: Path, store: EmbeddedStore
) -> None:
    add(source, 1, 2, name="lines")
    add(source, 3, name="lines", kind="line")
    with other_program(source) as theirs:
        lines = theirs.get_collection("lines")
        lines.upsert(ids=["bare"], documents=["text"], embeddings=make_vectors([4]))
    report = import_chroma(store, source, REQUIRED)
    assert report.collections["lines"].imported == 1
    assert sorted(report.collections["lines"].invalid) == ["bare", "id 1", "id 2"]
    assert store.count(Selector.everything("lines")) == 1


@in_process
def test_records_without_text_or_metadata_are_imported_where_none_is_required(
    source: Path, store: EmbeddedStore
) -> None:
    with other_program(source) as theirs:
        collection = theirs.create_collection(NAME, embedding_function=None)
        collection.upsert(ids=["bare"], embeddings=make_vectors([1]))
    assert import_chroma(store, source, {NAME: frozenset()}) == one(1)
    assert store.get(NAME) == [Record("bare", "", {})]


@in_process
def test_records_that_cannot_be_read_are_named_and_the_others_are_imported(
    source: Path, store: EmbeddedStore
) -> None:
    add(source, *range(6))
    with closing(sqlite3.connect(source / DATABASE)) as database, database:
        # This table has the only copy of the vectors of Chroma's last thousand records.
        database.execute("DELETE FROM embeddings_queue WHERE id = 'id 4'")
    report = import_chroma(store, source, REQUIRED)
    assert report == ImportReport({NAME: Imported(5, unreadable=["id 4"])})


@in_process
def test_other_collections_are_ignored_and_named(source: Path, store: EmbeddedStore) -> None:
    add(source, 1)
    add(source, 1, name="recipes")
    assert import_chroma(store, source, REQUIRED).ignored == ["recipes"]
    assert store.collections() == [NAME]


@pytest.mark.slow
def test_the_mirror_of_another_home_is_imported_with_its_models(
    tmp_path: Path, store: EmbeddedStore
) -> None:
    with mirrored_store(tmp_path / "other") as other:
        write(other, *range(3), name="docvec-chunks.books")
        theirs = read_store(other)
    report = import_chroma(store, mirror_of(tmp_path / "other"), REQUIRED)
    assert report == ImportReport({"docvec-chunks.books": Imported(3)})
    assert read_store(store) == theirs
    assert store.model("docvec-chunks.books") == MODEL


@in_process
def test_vectors_of_another_model_or_length_are_not_mixed_with_ours(
    source: Path, store: EmbeddedStore
) -> None:
    write(store, 0)
    with store.transaction() as transaction:
        vectors = make_vectors([0], DIMENSIONS * 2)
        transaction.upsert("lines", make_records(0, kind="line"), vectors, MODEL)
    add(source, 1, mark="another model")
    add(source, 1, name="lines", kind="line")
    add(source, 1, name="marked", mark=MODEL)
    report = import_chroma(store, source, REQUIRED)
    assert report.collections["marked"] == Imported(1)
    assert "another model" in report.collections[NAME].failure
    assert MODEL in report.collections[NAME].failure
    assert f"{DIMENSIONS * 2} dimensions" in report.collections["lines"].failure
    assert [len(store.get(name)) for name in (NAME, "lines")] == [1, 1]


@in_process
def test_a_large_collection_is_imported_in_steps(
    source: Path, store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "PAGE", 2)
    add(source, *range(5))
    before = read_chroma(source)
    assert import_chroma(store, source, REQUIRED) == one(5)
    assert read_store(store) == before


@in_process
def test_named_records_and_collections_are_skipped(source: Path, store: EmbeddedStore) -> None:
    add(source, *range(3))
    add(source, 1, name="lines", kind="line")
    report = import_chroma(store, source, REQUIRED, {(NAME, "id 1"), ("lines", "")})
    assert report == ImportReport({"lines": Imported(), NAME: Imported(2)})
    assert [one.id for one in store.get(NAME)] == ["id 0", "id 2"]


def test_a_folder_without_a_chroma_is_refused_and_left_as_it_is(
    source: Path, store: EmbeddedStore
) -> None:
    with pytest.raises(StoreUnavailable, match=f"no Chroma in {source}"):
        import_chroma(store, source, REQUIRED)
    assert not source.exists()
    source.mkdir()
    with pytest.raises(StoreUnavailable, match=f"no Chroma in {source}"):
        import_chroma(store, source, REQUIRED)
    assert list(source.iterdir()) == []


def test_a_damaged_chroma_is_refused_and_left_as_it_is(source: Path, store: EmbeddedStore) -> None:
    add(source, 1)
    (source / DATABASE).write_bytes(b"something else " * 1_000)
    with pytest.raises(StoreUnavailable, match="not a database"):
        import_chroma(store, source, REQUIRED)
    assert (source / DATABASE).read_bytes().startswith(b"something else")
    assert list(source.glob("damaged-*")) == []


def test_a_server_that_is_down_is_named(store: EmbeddedStore) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(StoreUnavailable, match=address):
        import_chroma(store, address, REQUIRED)


def test_a_server_is_imported_from_in_the_same_way(tmp_path: Path, store: EmbeddedStore) -> None:
    with chroma_server(tmp_path / "chroma") as server:
        add(server.url, *range(3))
        assert import_chroma(store, server.url, REQUIRED) == one(3)
        assert read_store(store) == read_chroma(server.url)


@pytest.mark.slow
def test_what_another_program_wrote_into_our_mirror_is_imported_from_there(
    tmp_path: Path,
) -> None:
    place = StorePlace(tmp_path, tmp_path / "store", mirror_of(tmp_path))
    with mirrored_store(tmp_path) as store:
        write(store, 0, 1)
    add(mirror_of(tmp_path), 2)
    with mirrored_store(tmp_path) as store:
        [warning] = store.check(NAME).warnings
        assert "quinion import chroma" in warning
    report = import_into(place, str(mirror_of(tmp_path)), REQUIRED)
    assert report == ImportReport({NAME: Imported(1, present=2)})
    with mirrored_store(tmp_path) as store:
        assert store.check(NAME).warnings == ()
        ours = read_store(store)
    assert ours[NAME].records.keys() == {"id 0", "id 1", "id 2"}
    assert read_chroma(mirror_of(tmp_path)) == ours


def test_more_records_than_a_page_of_ids_are_all_imported(
    source: Path, store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "COMMAND", run_with("client.PAGE = 2"))
    add(source, *range(5))
    assert import_chroma(store, source, REQUIRED) == one(5)
    assert np.array_equal(
        store.get_with_vectors(Selector.everything(NAME))[1], make_vectors(range(5))
    )
