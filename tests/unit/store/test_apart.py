import numpy as np
import pytest

from quinion.embed.port import Vectors
from quinion.model.record import Record
from quinion.store.apart import set_apart
from tests.unit.store.stores import open_store

DIMENSIONS = 384


def unit_vectors(count: int, seed: int) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(count, DIMENSIONS)).astype(np.float32)
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def records(names: list[str]) -> list[Record]:
    return [Record(name, name, {"k": 1}) for name in names]


def test_vectors_stay_unit_and_almost_where_they_were_and_the_same_id_gives_the_same() -> None:
    vectors = unit_vectors(50, 1)
    named = records([str(n) for n in range(50)])
    moved = set_apart(named, vectors)
    assert moved.dtype == np.float32
    assert np.linalg.norm(moved, axis=1) == pytest.approx(1, abs=1e-5)
    assert (moved * vectors).sum(axis=1) == pytest.approx(1, abs=1e-5)
    np.testing.assert_array_equal(moved[10:20], set_apart(named[10:20], vectors[10:20]))


def test_equal_vectors_differ_afterwards() -> None:
    moved = set_apart(records(["a", "b"]), np.repeat(unit_vectors(1, 1), 2, axis=0))
    assert not np.array_equal(moved[0], moved[1])


def test_what_has_no_direction_is_left_alone() -> None:
    zeros = np.zeros((2, 1), np.float32)
    assert set_apart(records(["a", "b"]), zeros) is zeros
    mixed = np.concatenate([np.zeros((1, DIMENSIONS), np.float32), unit_vectors(1, 1)])
    assert not set_apart(records(["a", "b"]), mixed)[0].any()
    assert set_apart([], np.empty((0, DIMENSIONS), np.float32)).shape == (0, DIMENSIONS)


def test_other_texts_are_found_among_hundreds_of_copies_of_one() -> None:
    copies = np.repeat(unit_vectors(2, 2), 300, axis=0)
    others = unit_vectors(10, 3)
    ids = [*(f"copy {n}" for n in range(600)), *(f"other {n}" for n in range(10))]
    store = open_store(None)
    named, vectors = records(ids), np.concatenate([copies, others])
    order = np.random.default_rng(4).permutation(len(ids))
    shuffled = [named[place] for place in order]
    store.upsert("apart", shuffled, set_apart(shuffled, vectors[order]))
    for place, vector in enumerate(others):
        assert store.query("apart", vector, 1)[0].record.id == f"other {place}"
