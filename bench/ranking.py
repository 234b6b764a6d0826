"""Ranking metrics: nDCG@10, recall@10 and the mean reciprocal rank (MRR)."""

import math
from collections.abc import Callable, Mapping, Sequence

DEPTH = 10

Rankings = Mapping[str, Sequence[str]]
"""Search results by query, best first."""

Judgements = Mapping[str, frozenset[str]]
"""Relevant results by query; queries without any are omitted."""


def mean_ndcg(rankings: Rankings, judgements: Judgements) -> float:
    return _mean(_ndcg, rankings, judgements)


def mean_recall(rankings: Rankings, judgements: Judgements) -> float:
    return _mean(_recall, rankings, judgements)


def mean_reciprocal_rank(rankings: Rankings, judgements: Judgements) -> float:
    return _mean(_reciprocal_rank, rankings, judgements)


def _mean(
    judge: Callable[[Sequence[str], frozenset[str]], float],
    rankings: Rankings,
    judgements: Judgements,
) -> float:
    values = [judge(rankings[query], relevant) for query, relevant in judgements.items()]
    return sum(values) / len(values)


def _ndcg(ranking: Sequence[str], relevant: frozenset[str]) -> float:
    gained = sum(
        1 / math.log2(place + 2) for place, name in enumerate(ranking[:DEPTH]) if name in relevant
    )
    return gained / sum(1 / math.log2(place + 2) for place in range(min(DEPTH, len(relevant))))


def _recall(ranking: Sequence[str], relevant: frozenset[str]) -> float:
    return len(relevant.intersection(ranking[:DEPTH])) / min(DEPTH, len(relevant))


def _reciprocal_rank(ranking: Sequence[str], relevant: frozenset[str]) -> float:
    ranks = (1 / place for place, name in enumerate(ranking, 1) if name in relevant)
    return next(ranks, 0.0)
