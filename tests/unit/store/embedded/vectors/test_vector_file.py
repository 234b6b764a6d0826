"""Vector files: round trips, also during concurrent writes."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from quinion.store.embedded.bitmap import Slots
from quinion.store.embedded.vectors.vector_file import VectorFile
from tests.unit.store.stores import DIMENSIONS, vectors


@pytest.fixture(params=["on disk", "in memory"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorFile]:
    path = tmp_path / "file" if request.param == "on disk" else None
    file = VectorFile(path, DIMENSIONS)
    yield file
    file.close()


@pytest.mark.parametrize(
    "slots",
    [
        np.arange(3),
        np.array([5, 6, 7, 20, 21, 3]),
        np.array([1_000, 0]),
        np.array([9, 8, 7]),
        np.arange(0, 3_000, 3),
    ],
    ids=["first", "apart", "far", "backwards", "many"],
)
def test_each_vector_is_at_its_slot(file: VectorFile, slots: Slots) -> None:
    before = vectors(10, seed=2)
    file.write(np.arange(10), before)
    new = vectors(len(slots))
    file.write(slots, new)
    np.testing.assert_array_equal(file.read(slots), new)
    untouched = np.setdiff1d(np.arange(10), slots)
    np.testing.assert_array_equal(file.read(untouched), before[untouched])
    assert len(file) > slots.max()


@pytest.mark.parametrize("some", [np.arange(500), np.arange(0, 500, 7), np.array([499])])
def test_products_are_those_of_the_chosen_slots(file: VectorFile, some: Slots) -> None:
    all_vectors = vectors(500)
    file.write(np.arange(500), all_vectors)
    [query] = vectors(1, seed=2)
    expected = all_vectors[some] @ query
    np.testing.assert_allclose(file.dot(some, query), expected, atol=1e-6)


def test_a_reader_keeps_its_vectors_when_the_file_grows(file: VectorFile) -> None:
    first = vectors(100)
    file.write(np.arange(100), first)
    seen = file.all()
    file.write(np.arange(100, 5_000), vectors(4_900, seed=2))
    np.testing.assert_array_equal(seen[:100], first)
    np.testing.assert_array_equal(file.read(np.arange(100)), first)
    assert len(file) >= 5_000 > len(seen)


def test_a_file_is_read_again(tmp_path: Path) -> None:
    file = VectorFile(tmp_path / "file", DIMENSIONS)
    file.write(np.arange(300), vectors(300))
    file.sync()
    file.close()
    file.close()
    again = VectorFile(tmp_path / "file", DIMENSIONS)
    np.testing.assert_array_equal(again.read(np.arange(300)), vectors(300))
    again.close()


def test_a_file_grows_by_more_than_is_needed(tmp_path: Path) -> None:
    """Else every write would map it again."""
    file = VectorFile(tmp_path / "file", DIMENSIONS)
    sizes = set()
    for start in range(0, 10_000, 10):
        file.write(np.arange(start, start + 10), vectors(10))
        sizes.add((tmp_path / "file").stat().st_size)
    assert len(sizes) < 50
    file.close()


def test_a_file_that_ends_within_a_vector_has_the_complete_ones(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(vectors(3).tobytes() + b"xyz")
    file = VectorFile(tmp_path / "file", DIMENSIONS)
    assert len(file) == 3
    np.testing.assert_array_equal(file.all(), vectors(3))
    file.close()


def test_only_the_owner_reads_a_file(tmp_path: Path) -> None:
    VectorFile(tmp_path / "file", DIMENSIONS).close()
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600
