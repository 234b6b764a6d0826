"""Bitmaps of slots, compared with Python sets."""

from collections.abc import Iterable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quinion.store.embedded.bitmap import BLOCK, set_bits, unpack, update

NUMBERS = st.integers(0, BLOCK - 1)


def spread(count: int) -> set[int]:
    """Return slots spread over the block."""
    return set(np.random.default_rng(count).permutation(BLOCK)[:count].tolist())


@given(
    size=st.sampled_from([0, 1, 100, 4_090, 4_095, 4_096, 4_100, 60_000]),
    new=st.sets(NUMBERS, max_size=20),
    gone=st.sets(NUMBERS, max_size=20),
    gone_of_old=st.integers(0, 30),
)
def test_a_block_contains_added_and_not_removed_slots(
    size: int, new: set[int], gone: set[int], gone_of_old: int
) -> None:
    old = spread(size)
    gone |= set(sorted(old)[:gone_of_old])
    block = add(add(b"", old), new - old)
    assert read(block) == old | new
    block = remove(block, gone)
    assert read(block) == (old | new) - gone
    assert len(block) <= BLOCK // 8


@given(size=st.sampled_from([1, 5_000]), length=st.integers(0, BLOCK))
def test_what_came_after_a_mask_was_made_is_not_on_it(size: int, length: int) -> None:
    slots = spread(size)
    mask = np.zeros(length, np.bool_)
    set_bits(mask, 0, [add(b"", slots)])
    assert set(np.flatnonzero(mask).tolist()) == {slot for slot in slots if slot < length}


@given(size=st.sampled_from([1, 5_000]))
def test_a_block_of_which_all_is_removed_has_no_bytes(size: int) -> None:
    assert remove(add(b"", spread(size)), range(BLOCK)) == b""


def test_a_mask_may_end_within_the_block() -> None:
    mask = np.zeros(2 * BLOCK + 10, np.bool_)
    set_bits(mask, 2, [add(b"", [3, 9])])
    set_bits(mask, 2, [add(b"", range(10))])
    set_bits(mask, 1, [add(b"", [BLOCK - 1])])
    assert np.flatnonzero(mask).tolist() == [2 * BLOCK - 1, *range(2 * BLOCK, 2 * BLOCK + 10)]


def test_a_dense_block_sets_only_its_own_part_of_a_mask() -> None:
    mask = np.zeros(3 * BLOCK, np.bool_)
    slots = spread(5_000)
    set_bits(mask, 1, [add(b"", slots)])
    assert set(np.flatnonzero(mask).tolist()) == {BLOCK + slot for slot in slots}


def add(block: bytes, slots: Iterable[int]) -> bytes:
    return update(block, [], list(slots))


def remove(block: bytes, slots: Iterable[int]) -> bytes:
    return update(block, list(slots), [])


def read(block: bytes) -> set[int]:
    return set(np.flatnonzero(unpack(block)).tolist())
