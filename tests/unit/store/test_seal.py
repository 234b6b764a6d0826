"""Chroma is not opened to read what it is known to have, and is where that is not known."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from quinion.model.record import Record
from quinion.store.chroma import Chroma, Place
from quinion.store.vectors import VectorStore
from tests.unit.store.stores import open_store

NAME = "texts"
VECTORS = np.eye(4, dtype=np.float32)


def record(id_: str) -> Record:
    return Record(id_, f"text {id_}", {"id": id_})


def look(store: VectorStore) -> list[str]:
    """What is found, once the store has had the time to look into Chroma."""
    found = sorted(hit.record.id for hit in store.query(NAME, VECTORS[0], 4))
    for thread in store._agreement._settling.values():
        thread.join()
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with closing(open_store(tmp_path)) as store:
        store.upsert(NAME, [record("a"), record("b")], VECTORS[:2])
    return tmp_path


def test_what_is_only_read_is_read_without_chroma(folder: Path) -> None:
    for _ in range(2):
        with closing(open_store(folder)) as store:
            assert look(store) == ["a", "b"]
            assert not store._chroma.is_open


def test_what_is_written_to_a_sealed_store_is_in_both(folder: Path) -> None:
    with closing(open_store(folder)) as store:
        store.upsert(NAME, [record("c")], VECTORS[2:3])
        assert look(store) == ["a", "b", "c"]
    assert sorted(Chroma(Place(folder / "chroma")).ids(NAME)) == ["a", "b", "c"]


def add_by_another_program(folder: Path) -> None:
    chroma = Chroma(Place(folder / "chroma"))
    chroma.upsert(NAME, [record("z")], VECTORS[3:])
    chroma.close()


def lose_chroma(folder: Path) -> None:
    (folder / "chroma" / "chroma.sqlite3").unlink()


def die_in_debt(folder: Path) -> None:
    store = open_store(folder)
    store.ledger.upsert(NAME, [record("y")], VECTORS[3:])
    store.ledger.close()


@pytest.mark.parametrize(
    ("happen", "expected"),
    [
        (add_by_another_program, ["a", "b", "z"]),
        (lose_chroma, ["a", "b"]),
        (die_in_debt, ["a", "b", "y"]),
    ],
)
def test_whoever_touches_chroma_or_dies_breaks_the_seal(
    folder: Path, happen: Callable[[Path], None], expected: list[str]
) -> None:
    happen(folder)
    with closing(open_store(folder)) as store:
        look(store)
        assert store._chroma.is_open
        assert look(store) == expected
    assert sorted(Chroma(Place(folder / "chroma")).ids(NAME)) == expected


def test_a_store_that_another_program_has_added_to_meanwhile_is_not_sealed(folder: Path) -> None:
    with closing(open_store(folder)) as store:
        store.upsert(NAME, [record("c")], VECTORS[2:3])
        store.catch_up(NAME)
        store._chroma.upsert(NAME, [record("z")], VECTORS[3:])
    with closing(open_store(folder)) as store:
        look(store)
        assert look(store) == ["a", "b", "c", "z"]
