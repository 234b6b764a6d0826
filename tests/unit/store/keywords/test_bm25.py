"""The best of many scores, against a plain sort."""

import numpy as np
import pytest

from quinion.store.keywords.bm25 import find_best
from quinion.store.keywords.postings import decode, encode_posting

SLOTS = 50_000


@pytest.mark.parametrize("share", [1.0, 0.5, 0.01, 0.0])
@pytest.mark.parametrize("distinct", [3, 1_000, 1_000_000])
@pytest.mark.parametrize("scored", [0.9, 0.001, 0.0])
def test_best_are_those_of_a_plain_sort(share: float, distinct: int, scored: float) -> None:
    dice = np.random.default_rng(1)
    scores = (dice.integers(1, distinct, SLOTS) / distinct).astype(np.float32)
    scores[dice.random(SLOTS) >= scored] = 0
    mask = dice.random(SLOTS) < share
    allowed = [slot for slot in range(SLOTS) if mask[slot] and scores[slot] > 0]
    ordered = sorted(allowed, key=lambda slot: -scores[slot])
    for count in (1, 100, 2_000):
        assert find_best(scores, mask, count).tolist() == ordered[:count]


def test_postings_are_decoded_by_block() -> None:
    rows = [
        (0, encode_posting(3, 1) + encode_posting(1, 300)),
        (2, encode_posting(0, 2)),
    ]
    postings = decode(rows, 4)
    assert len(postings) == 3
    assert postings.slots().tolist() == [3, 1, 8]
    assert postings.counts().tolist() == [1, 255, 2]
    assert postings.counts(np.array([2])).tolist() == [2]
    assert [slot for slot in range(12) if slot in postings] == [1, 3, 8]


def test_an_offset_beyond_its_block_is_damage() -> None:
    with pytest.raises(ValueError, match="beyond the end of its block"):
        decode([(0, encode_posting(4, 1))], 4)
