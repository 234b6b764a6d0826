"""Fusion of cosines and BM25 scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from quinion.search.fusion import WEIGHT, WEIGHT_SHORT, choose_weight, fuse
from quinion.store.base import Candidates, Vectors

COUNTS = st.shared(st.integers(1, 30), key="count")


def numbers(low: float, high: float) -> st.SearchStrategy[Vectors]:
    elements = st.floats(low, high, width=32, allow_subnormal=False)
    return COUNTS.flatmap(lambda count: arrays.arrays(np.float32, count, elements=elements))


CANDIDATES = st.builds(Candidates, numbers(-1, 1), numbers(0, 50), st.floats(-0.25, 0.5, width=32))


def of(cosines: list[float], words: list[float], mean: float = 0.0) -> Candidates:
    return Candidates(np.array(cosines, np.float32), np.array(words, np.float32), mean)


def test_the_sum_is_that_of_both_scores_divided_by_the_best() -> None:
    scores = fuse(of([0.6, 0.4, 0.1], [0.0, 5.0, 10.0], mean=0.1), 0.25)
    np.testing.assert_allclose(scores, [0.25, 0.25 * 0.6 + 0.75 * 0.5, 0.75], rtol=1e-6)


def test_short_queries_weigh_words_more() -> None:
    assert [choose_weight(words) for words in (0, 3, 4, 50)] == [
        *(WEIGHT_SHORT, WEIGHT_SHORT, WEIGHT, WEIGHT)
    ]


def test_without_any_word_the_order_is_that_of_the_cosines() -> None:
    assert np.argsort(-fuse(of([0.1, 0.5, 0.3], [0, 0, 0]), 0.5)).tolist() == [1, 2, 0]


def test_a_single_candidate_like_the_mean_has_the_score_of_its_words() -> None:
    assert fuse(of([0.7], [3.0], mean=0.7), 0.25).tolist() == [0.75]
    assert fuse(of([0.7], [0.0], mean=0.7), 0.25).tolist() == [0.0]


@given(CANDIDATES, st.sampled_from([WEIGHT, WEIGHT_SHORT]))
def test_scores_are_finite_and_one_at_most(candidates: Candidates, weight: float) -> None:
    scores = fuse(candidates, weight)
    assert np.isfinite(scores).all()
    assert scores.max() <= 1 + 1e-6


@given(CANDIDATES, st.integers(0, 29), st.floats(0, 1, width=32))
def test_a_better_cosine_or_more_words_never_lower_a_rank(
    candidates: Candidates, place: int, more: float
) -> None:
    place %= len(candidates.words)
    better = candidates.words.copy()
    better[place] += np.float32(more) * 10
    before = fuse(candidates, 0.5)
    after = fuse(Candidates(candidates.cosines, better, candidates.mean_cosine), 0.5)
    above = before >= before[place]
    assert (after[~above] <= after[place] + 1e-5).all()


@pytest.mark.parametrize("count", [1, 200])
def test_equal_candidates_have_equal_scores(count: int) -> None:
    scores = fuse(of([0.3] * count, [2.0] * count, 0.1), 0.5)
    assert len(set(scores.tolist())) == 1
