"""Filters: examples for each operator, and a comparison with `filters.matches`."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quinion.model.record import Record, Scalar
from quinion.store.base import Selector, VectorStore
from quinion.store.filters import OPERATORS, Where, matches
from tests.store_conformance.adapter import (
    Adapter,
    check_hits,
    ids,
    record,
    vector_of,
    vectors_of,
    write,
)

LONG = "long " * 100
"""Longer than the prefix of a value that an index may store."""
RECORDS = [
    record("int", k=1),
    record("float", k=1.0),
    record("true", k=True),
    record("text", k="1"),
    record("two", k=2),
    record("half", k=1.5),
    record("false", k=False),
    record("word", k="one word"),
    record("long", k=LONG),
    record("longer", k=f"{LONG}!"),
    record("empty", k=""),
    record("missing", other=1),
    record("nothing"),
]
ONES = ["int", "float", "true"]
LACKING = ["missing", "nothing"]
TEXTS = ["text", "word", "long", "longer", "empty"]
NAMES = ids(RECORDS)


def others(*names: str) -> list[str]:
    return [name for name in NAMES if name not in names]


CASES: list[tuple[Where, list[str]]] = [
    ({"k": 1}, ONES),
    ({"k": True}, ONES),
    ({"k": {"$eq": 1.0}}, ONES),
    ({"k": 0}, ["false"]),
    ({"k": 0.0}, ["false"]),
    ({"k": "1"}, ["text"]),
    ({"k": ""}, ["empty"]),
    ({"k": LONG}, ["long"]),
    ({"k": {"$ne": 1}}, others(*ONES)),
    ({"k": {"$ne": LONG}}, others("long")),
    ({"k": {"$ne": "nobody has it"}}, NAMES),
    ({"k": {"$gt": 1}}, ["two", "half"]),
    ({"k": {"$gte": 1}}, [*ONES, "two", "half"]),
    ({"k": {"$lt": 1.5}}, [*ONES, "false"]),
    ({"k": {"$lte": 1.5}}, [*ONES, "half", "false"]),
    ({"k": {"$gt": "1"}}, ["word", "long", "longer"]),
    ({"k": {"$lte": LONG}}, ["text", "long", "empty"]),
    ({"k": {"$gt": LONG}}, ["word", "longer"]),
    ({"k": {"$in": [1, "one word"]}}, [*ONES, "word"]),
    ({"k": {"$in": [LONG, 2]}}, ["two", "long"]),
    ({"k": {"$in": []}}, []),
    ({"k": {"$nin": [1, LONG, ""]}}, others(*ONES, "long", "empty")),
    ({"k": {"$nin": []}}, NAMES),
    ({"k": {"$contains": "word"}}, ["word"]),
    ({"k": {"$contains": "1"}}, ["text"]),
    ({"k": {"$contains": "long"}}, ["long", "longer"]),
    ({"k": {"$contains": ""}}, TEXTS),
    ({"k": {"$contains": "WORD"}}, []),
    ({"k": {"$not_contains": "o"}}, others("word", "long", "longer")),
    ({"k": {"$not_contains": ""}}, others(*TEXTS)),
    ({"k": {"$gte": 1, "$lt": 2}}, [*ONES, "half"]),
    ({"k": {"$gte": 1, "$ne": 1.5, "$nin": [2]}}, ONES),
    ({"k": {"$contains": "long", "$not_contains": "!"}}, ["long"]),
    ({"k": 1, "other": 1}, []),
    ({"other": 1}, ["missing"]),
    ({"nobody": 1}, []),
    ({"nobody": {"$ne": 1}}, NAMES),
    ({"nobody": {"$nin": [1]}, "k": 2}, ["two"]),
    ({"$and": [{"k": {"$gte": 1}}, {"k": {"$lt": 2}}]}, [*ONES, "half"]),
    ({"$and": [{"k": 1}, {"k": 2}]}, []),
    ({"$and": []}, NAMES),
    ({"$or": [{"k": 2}, {"k": LONG}, {"other": 1}]}, ["two", "long", "missing"]),
    ({"$or": [{"k": {"$contains": "word"}}, {"$and": [{"k": {"$gt": 0}}, {"k": {"$lt": 2}}]}]},
     [*ONES, "half", "word"]),
    ({"$or": []}, []),
    ({"$and": [{"$or": [{"k": 1}, {"k": 2}]}, {"k": {"$ne": 1}}]}, ["two"]),
    ({"$or": [{"k": 2}], "k": {"$gt": 1}}, ["two"]),
    ({}, NAMES),
]  # fmt: skip

KEYS = st.sampled_from(["k", "l", "title", "a key 'q' %_", "ä", ""])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
VALUES: st.SearchStrategy[Scalar] = st.one_of(
    st.sampled_from(["", "a", "b", "ab", "ä\n", '"', "\\", "x" * 300, "x" * 301, "%", "long"]),
    TEXT,
    st.integers(-3, 3),
    st.sampled_from([2**53, 2**53 + 1, -(2**31)]),
    st.sampled_from([0.0, -0.0, 0.5, 1.0, -1.0, 2.0**53, 1e300]),
    st.booleans(),
)
METADATA = st.dictionaries(KEYS, VALUES, max_size=4)


def _leaf() -> st.SearchStrategy[Where]:
    texts = st.one_of(st.sampled_from(["a", "b", "x", "", "\\", '"', "n", "ä", "on"]), TEXT)
    condition: st.SearchStrategy[dict[str, Any]] = st.one_of(
        st.builds(
            lambda name, value: {name: value},
            st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]),
            VALUES,
        ),
        st.builds(
            lambda name, some: {name: some},
            st.sampled_from(["$in", "$nin"]),
            st.lists(VALUES, max_size=4),
        ),
        st.builds(
            lambda name, part: {name: part}, st.sampled_from(["$contains", "$not_contains"]), texts
        ),
    )
    several = st.lists(condition, min_size=1, max_size=3).map(
        lambda some: {name: value for one in some for name, value in one.items()}
    )
    return st.one_of(
        st.dictionaries(KEYS, VALUES, min_size=1, max_size=2),
        st.dictionaries(KEYS, several, min_size=1, max_size=2),
    )


FILTERS: st.SearchStrategy[Where] = st.recursive(
    _leaf(),
    lambda inner: st.builds(
        lambda name, parts: {name: parts},
        st.sampled_from(["$and", "$or"]),
        st.lists(inner, max_size=3),
    ),
    max_leaves=5,
)


class FilterConformance(Adapter):
    @pytest.mark.parametrize(("where", "expected"), CASES)
    def test_a_filter_finds(self, store: VectorStore, where: Where, expected: list[str]) -> None:
        write(store, "c", RECORDS)
        assert ids(store.get("c", where=where)) == expected
        query = vector_of("a query")
        hits = store.search_vectors("c", query, len(RECORDS), where)
        check_hits(hits, RECORDS, vectors_of(RECORDS), query, len(RECORDS), where)
        assert {hit.record.id for hit in hits} == set(expected)

    def test_the_cases_have_every_operator(self) -> None:
        used = {name for where, _ in CASES for name in _operators(where)}
        assert used == {*OPERATORS, "$and", "$or"}

    @pytest.mark.parametrize(
        "equal", [(0, 0.0, -0.0, False), (1, 1.0, True), (2**53, 2.0**53), (-7, -7.0)]
    )
    def test_equal_numbers_are_found_however_they_are_written(
        self, store: VectorStore, equal: tuple[Scalar, ...]
    ) -> None:
        records = [record(str(n), k=value) for n, value in enumerate(equal)]
        write(store, "c", [*records, record("other", k=3), record("text", k=str(equal[0]))])
        for value in equal:
            assert store.get("c", where={"k": value}) == records
            assert store.get("c", where={"k": {"$in": ["x", value]}}) == records
            assert ids(store.get("c", where={"k": {"$ne": value}})) == ["other", "text"]
            assert store.count(Selector.by_values("c", k=value)) == len(equal)

    def test_values_are_compared_after_they_were_changed(self, store: VectorStore) -> None:
        write(store, "c", [record(str(n), k=n) for n in range(4)])
        with store.transaction() as transaction:
            transaction.update_metadata(Selector.by_ids("c", ["1"]), {"k": LONG})
            transaction.update_metadata(Selector.by_ids("c", ["2"]), {"k": "a", "l": 1})
        write(store, "c", [record("3", l=1)])
        assert ids(store.get("c", where={"k": {"$gte": 0}})) == ["0"]
        assert ids(store.get("c", where={"k": {"$contains": "long"}})) == ["1"]
        assert ids(store.get("c", where={"k": {"$nin": [LONG, 0]}})) == ["2", "3"]
        assert ids(store.get("c", where={"l": 1})) == ["2", "3"]

    @settings(
        max_examples=100,
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.differing_executors,
            HealthCheck.too_slow,
        ],
    )
    @given(
        some=st.lists(METADATA, min_size=1, max_size=12),
        filters=st.lists(FILTERS, min_size=1, max_size=4),
        values=st.dictionaries(KEYS, VALUES, min_size=1, max_size=2),
        limit=st.integers(1, 14),
    )
    def test_filters_match_the_reference_implementation(
        self,
        store: VectorStore,
        some: list[dict[str, Scalar]],
        filters: list[Where],
        values: dict[str, Scalar],
        limit: int,
    ) -> None:
        records = [Record(str(n), f"text {n}", metadata) for n, metadata in enumerate(some)]
        with store.transaction() as transaction:
            transaction.delete(Selector.everything("c"))
            transaction.upsert("c", records, vectors_of(records), "")
        query = vector_of("a query")
        for where in filters:
            expected = [one for one in records if matches(one.metadata, where)]
            assert store.get("c", where=where) == expected
            assert store.get("c", ids=ids(records)[::2], where=where) == [
                one for one in records[::2] if one in expected
            ]
            hits = store.search_vectors("c", query, limit, where)
            check_hits(hits, records, vectors_of(records), query, limit, where)
        # A selector compares values like a filter.
        selector = Selector.by_values("c", **values)
        expected = [one for one in records if matches(one.metadata, values)]
        assert store.count(selector) == len(expected)
        assert store.get_with_vectors(selector)[0] == expected


def _operators(where: Where) -> set[str]:
    found = set()
    for key, condition in where.items():
        if key.startswith("$"):
            found |= {key, *(name for part in condition for name in _operators(part))}
        elif isinstance(condition, dict):
            found |= set(condition)
        else:
            found.add("$eq")
    return found
