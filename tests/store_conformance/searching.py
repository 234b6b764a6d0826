"""Vector search, compared with exact search over all records."""

import numpy as np
import pytest

from quinion.model.record import Record
from quinion.store.base import Selector, Vectors, VectorStore
from quinion.store.filters import Where
from tests.store_conformance.adapter import (
    DIMENSIONS,
    Adapter,
    check_hits,
    hit_ids,
    record,
    vector_of,
    vectors_of,
    write,
)

COUNT = 400
LONG = "long " * 100
"""Longer than the prefix of a value that an index may store."""


def unit(*numbers: float) -> Vectors:
    vector = np.array(numbers, np.float32)
    return vector / np.linalg.norm(vector)


def some_records() -> list[Record]:
    return [
        record(str(n), n=n, half=n % 2, rare=n % 97, path=f"/{n}/x", long=f"{LONG} {n % 50}")
        for n in range(COUNT)
    ]


class SearchConformance(Adapter):
    def test_hits_come_best_first_with_their_scores(self, store: VectorStore) -> None:
        vectors = np.stack([unit(0, 1), unit(1, 0), unit(-1, 0), unit(1, 1)])
        with store.transaction() as transaction:
            transaction.upsert("c", [record(id_) for id_ in "abcd"], vectors, "")
        hits = store.search_vectors("c", unit(1, 0), 4)
        assert hit_ids(hits)[:2] == ["b", "d"]
        # The score is the cosine, and 0 where that is negative.
        assert [hit.score for hit in hits] == pytest.approx([1, 0.5**0.5, 0, 0], abs=1e-6)
        assert all(0 <= hit.score <= 1 for hit in hits)

    @pytest.mark.parametrize(
        "where",
        [
            None,
            {"half": 1},
            {"rare": 5},
            {"rare": {"$ne": 5}},
            {"n": {"$lt": 40}},
            {"path": {"$contains": "/39"}},
            {"$or": [{"rare": 1}, {"n": {"$gte": 390}}]},
            {"half": 2},
            {"long": f"{LONG} 7"},
            {"long": {"$contains": " 41"}, "half": 1},
        ],
        ids=lambda where: str(where)[:40],
    )
    @pytest.mark.parametrize("limit", [1, 10, COUNT, 10 * COUNT])
    def test_the_nearest_are_found(
        self, store: VectorStore, where: Where | None, limit: int
    ) -> None:
        records = some_records()
        write(store, "c", records)
        for number in range(3):
            query = vector_of(f"query {number}")
            hits = store.search_vectors("c", query, limit, where)
            check_hits(hits, records, vectors_of(records), query, limit, where)

    def test_the_nearest_are_found_after_changes(self, store: VectorStore) -> None:
        write(store, "c", some_records())
        with store.transaction() as transaction:
            transaction.delete(Selector.by_values("c", half=1))
            transaction.update_metadata(Selector.by_values("c", rare=4), {"half": 1})
        write(store, "c", [record(str(n), f"changed {n}", half=1) for n in range(100, 150)])
        left, vectors = store.get_with_vectors(Selector.everything("c"))
        np.testing.assert_array_equal(vectors, vectors_of(left))
        for where in (None, {"half": 1}, {"half": 0}):
            for text in ("the text of 8", "changed 120", "the text of 121"):
                hits = store.search_vectors("c", vector_of(text), 20, where)
                check_hits(hits, left, vectors, vector_of(text), 20, where)
        assert store.search_vectors("c", vector_of("changed 120"), 1)[0].record.id == "120"

    def test_records_at_the_same_distance_keep_their_order(self, store: VectorStore) -> None:
        records = [record(str(n), "the same text", half=n % 2) for n in range(50)]
        write(store, "c", [*records, record("other")])
        with store.transaction() as transaction:
            transaction.delete(Selector.by_ids("c", ["3", "7"]))
        write(store, "c", [record("new", "the same text", half=0)])
        query = vector_of("the same text")
        order = hit_ids(store.search_vectors("c", query, 100))
        assert len(order) == 50
        for limit in (1, 2, 10, 49, 50):
            assert hit_ids(store.search_vectors("c", query, limit)) == order[:limit]
        halves = {one.id: one.metadata.get("half") for one in store.get("c")}
        for half in (0, 1):
            expected = [id_ for id_ in order if halves[id_] == half]
            assert hit_ids(store.search_vectors("c", query, 100, {"half": half})) == expected

    def test_vectors_may_be_placeholders_of_zeros(self, store: VectorStore) -> None:
        vectors = np.zeros((3, DIMENSIONS), np.float32)
        vectors[1] = vector_of("x")
        with store.transaction() as transaction:
            transaction.upsert("c", [record(id_) for id_ in "abc"], vectors, "")
        hits = store.search_vectors("c", vector_of("x"), 3)
        assert hits[0].record.id == "b"
        assert sorted(hit_ids(hits)) == ["a", "b", "c"]

    def test_only_the_collection_is_searched(self, store: VectorStore) -> None:
        write(store, "c", [record("a")])
        write(store, "d", [record("b", "b")])
        assert hit_ids(store.search_vectors("c", vector_of("b"), 5)) == ["a"]
