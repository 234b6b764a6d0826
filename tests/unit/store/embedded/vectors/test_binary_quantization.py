"""Binary quantization: search results, compared with counted bit differences."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quinion.store.embedded.vectors.binary_quantization import Codes, encode
from tests.unit.store.embedded.clusters import make_vectors


@given(
    seed=st.integers(0, 1000),
    size=st.integers(1, 300),
    share=st.sampled_from([0.05, 0.5, 1.0]),
    count=st.integers(1, 50),
)
def test_those_that_differ_least_are_found(seed: int, size: int, share: float, count: int) -> None:
    vectors = make_vectors(size, seed)
    dice = np.random.default_rng(seed)
    slots = dice.permutation(2 * size)[:size]
    centre = vectors.mean(axis=0)
    codes = Codes(None, centre)
    for part in np.array_split(np.arange(size), 3):
        if len(part):
            codes.write(slots[part], vectors[part])
    mask = np.zeros(2 * size, np.bool_)
    mask[slots] = dice.random(size) < share
    vector = make_vectors(1, seed + 1)[0]
    differences = ((vectors > centre) != (vector > centre)).sum(axis=1)
    unmasked = mask[slots]
    found = codes.nearest(vector, mask, count)
    assert set(found) <= set(slots[unmasked])
    assert (np.diff(found) > 0).all()
    if len(found) < unmasked.sum():
        assert len(found) >= count
        farthest = differences[np.isin(slots, found)].max()
        assert set(found) == set(slots[unmasked & (differences <= farthest)])


@pytest.mark.parametrize("dimensions", [1, 7, 64, 65, 384])
def test_a_code_has_a_bit_for_each_number_above_the_centre(dimensions: int) -> None:
    dice = np.random.default_rng(dimensions)
    vectors = dice.normal(size=(5, dimensions)).astype(np.float32)
    centre = dice.normal(size=dimensions).astype(np.float32)
    codes = encode(vectors, centre)
    assert codes.shape == (5, -(-dimensions // 64))
    bits = np.unpackbits(codes.view(np.uint8), axis=1)
    np.testing.assert_array_equal(bits[:, :dimensions], vectors > centre)
    assert not bits[:, dimensions:].any()


def test_codes_are_read_from_their_file(tmp_path: Path) -> None:
    vectors = make_vectors(300, 1)
    centre = vectors.mean(axis=0)
    mask = np.ones(300, np.bool_)
    query = make_vectors(1, 2)[0]
    codes = Codes(tmp_path / "codes", centre)
    codes.write(np.arange(300), vectors)
    found = codes.nearest(query, mask, 20)
    codes.sync()
    codes.close()
    again = Codes(tmp_path / "codes", centre)
    assert len(again) >= 300
    np.testing.assert_array_equal(again.nearest(query, mask, 20), found)
    again.write(np.array([7]), query[None])
    assert 7 in again.nearest(query, mask, 1)
    again.close()
