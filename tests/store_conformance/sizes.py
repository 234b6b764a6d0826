"""Large stores: a hundred thousand records."""

import numpy as np
import pytest

from quinion.model.record import Record
from quinion.store.base import Selector, Vectors, VectorStore
from tests.store_conformance.adapter import MODEL, Adapter, check_intact, hit_ids

COUNT = 100_000
STEP = 10_000
DIMENSIONS = 128
QUERIES = 30
RECALL = 0.99


def clustered(count: int, seed: int) -> Vectors:
    """Generate clustered unit vectors, similar to those of texts."""
    dice = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(100, DIMENSIONS)).astype(np.float32)
    vectors = centres[dice.integers(0, len(centres), count)]
    vectors += 0.7 * dice.normal(size=vectors.shape).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def number(first: int, last: int) -> list[Record]:
    return [
        Record(f"id {n}", f"text {n}", {"n": n, "half": n % 2, "document": n // 50})
        for n in range(first, last)
    ]


def measure_recall(
    store: VectorStore, numbers: "np.typing.NDArray[np.int64]", vectors: Vectors, **where: int
) -> float:
    """Return the share of the ten nearest records that a search finds."""
    found = 0
    for query in clustered(QUERIES, 99):
        nearest = numbers[np.argsort(-(vectors @ query), kind="stable")[:10]]
        hits = store.search_vectors("c", query, 10, where or None)
        assert len(hits) == 10
        found += len({f"id {n}" for n in nearest} & set(hit_ids(hits)))
    return found / (10 * QUERIES)


class SizeConformance(Adapter):
    @pytest.mark.slow
    @pytest.mark.timeout(600)
    def test_a_hundred_thousand_records(self, store: VectorStore) -> None:
        everything = Selector.everything("c")
        vectors = clustered(COUNT, 1)
        for start in range(0, COUNT, STEP):
            with store.transaction() as transaction:
                part = slice(start, start + STEP)
                transaction.upsert("c", number(start, start + STEP), vectors[part], MODEL)
        numbers = np.arange(COUNT)
        assert store.count(everything) == store.check("c").records == COUNT
        assert measure_recall(store, numbers, vectors) >= RECALL
        assert measure_recall(store, numbers[1::2], vectors[1::2], half=1) >= RECALL
        assert [one.metadata["n"] for one in store.get("c", where={"document": 77})] == list(
            range(3_850, 3_900)
        )
        assert len(store.get("c", where={"n": {"$gte": COUNT - 500}})) == 500

        with store.transaction() as transaction:
            assert transaction.delete(Selector.by_values("c", half=1)) == COUNT // 2
        assert store.count(everything) == COUNT // 2
        assert store.search_vectors("c", vectors[1], 10, {"half": 1}) == []
        assert measure_recall(store, numbers[::2], vectors[::2]) >= RECALL

        # New records may reuse the slots of deleted ones.
        again = clustered(STEP, 2)
        with store.transaction() as transaction:
            transaction.upsert("c", number(COUNT, COUNT + STEP), again, MODEL)
        numbers = np.concatenate([numbers[::2], np.arange(COUNT, COUNT + STEP)])
        vectors = np.concatenate([vectors[::2], again])
        assert measure_recall(store, numbers, vectors) >= RECALL
        found, theirs = store.get_with_vectors(Selector.by_values("c", document=COUNT // 50))
        assert [one.metadata["n"] for one in found] == list(range(COUNT, COUNT + 50))
        np.testing.assert_array_equal(theirs, again[:50])
        assert store.count(everything) == len(numbers)
        check_intact(store)
