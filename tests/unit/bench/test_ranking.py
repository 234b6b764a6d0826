"""nDCG, recall and reciprocal ranks of rankings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.ranking import DEPTH, mean_ndcg, mean_recall, mean_reciprocal_rank

NAMES = st.sampled_from([f"d{number}" for number in range(20)])


def test_known_values() -> None:
    judgements = {"q": frozenset({"a", "b"})}
    assert mean_ndcg({"q": ["a", "b", "c"]}, judgements) == pytest.approx(1)
    # 1 / log2(3) of 1 + 1 / log2(3)
    assert mean_ndcg({"q": ["c", "a"]}, judgements) == pytest.approx(0.6309 / 1.6309, abs=1e-4)
    assert mean_recall({"q": ["c", "a"]}, judgements) == 0.5


def test_the_reciprocal_rank_is_that_of_the_first_relevant_result() -> None:
    judgements = {"q": frozenset({"a", "b"}), "r": frozenset({"x"})}
    assert mean_reciprocal_rank({"q": ["c", "b", "a"], "r": ["c"]}, judgements) == 0.25


def test_the_mean_is_over_the_queries() -> None:
    judgements = {"one": frozenset({"a"}), "other": frozenset({"a"})}
    rankings = {"one": ["a"], "other": ["b"]}
    assert mean_ndcg(rankings, judgements) == mean_recall(rankings, judgements) == 0.5


@given(
    ranking=st.lists(NAMES, unique=True, min_size=1),
    relevant=st.frozensets(NAMES, min_size=1),
)
def test_earlier_relevant_results_score_higher(
    ranking: list[str], relevant: frozenset[str]
) -> None:
    judgements = {"q": relevant}
    best = sorted(ranking, key=lambda name: name not in relevant)
    here, there = (mean_ndcg({"q": names}, judgements) for names in (ranking, best))
    assert 0 <= here <= there + 1e-12 <= 1 + 2e-12
    assert (here == 0) == relevant.isdisjoint(ranking[:DEPTH])
