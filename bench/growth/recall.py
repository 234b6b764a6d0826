"""Recall against exact search over all vectors."""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bench.growth.ask import RESULTS
from bench.growth.found import Size
from bench.growth.made import STEP, Made, chunk_number
from quinion.embed.base import Vectors

SAME = 1e-5
"""Dot products that differ by less count as equal."""

Products = NDArray[np.float32]


def measure_recall(made: Made, size: Size, vectors: Mapping[str, Vectors]) -> None:
    """Record the recall over all questions by side and filter."""
    asked = [one for part in size.rounds for one in part]
    questions = np.stack([vectors[one.question] for one in asked])
    numbers = [[chunk_number(id_) for id_ in one.ids] for one in asked]
    best = np.full((len(asked), RESULTS), -np.inf, np.float32)
    found = np.full((len(asked), RESULTS), -np.inf, np.float32)
    for start in range(0, size.chunks, STEP):
        end = min(start + STEP, size.chunks)
        chunks = np.arange(start, end)
        products: Products = questions @ made.vectors(start, end).T
        for row, one in enumerate(asked):
            for place, number in enumerate(numbers[row]):
                if start <= number < end and one.filter.holds(chunks[[number - start]])[0]:
                    found[row, place] = products[row, number - start]
            meant = products[row][one.filter.holds(chunks)]
            best[row] = np.partition(np.concatenate([best[row], meant]), -RESULTS)[-RESULTS:]
    shares: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row, one in enumerate(asked):
        there = best[row] > -np.inf
        hits = np.count_nonzero(found[row] >= best[row][there].min() - SAME)
        shares[one.who, one.filter.name].append(hits / np.count_nonzero(there))
    size.recalls = {key: float(np.mean(values)) for key, values in shares.items()}
