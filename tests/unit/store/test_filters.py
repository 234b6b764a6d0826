import random
from typing import Any

import numpy as np
import pytest

from quinion.model.record import Record
from quinion.store.chroma import Place, VectorStore
from quinion.store.filters import Where, all_of, matches

VALUES: dict[str, list[Any]] = {
    "kind": ["a", "b", "c"],
    "number": [1, 2, 3, 20240315, 99991231],
    "flag": [True, False],
}
OPERATORS = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin"]


def random_filter(dice: random.Random, depth: int = 2) -> Where:
    if depth and dice.random() < 0.5:
        parts = [random_filter(dice, depth - 1) for _ in range(2)]
        return {dice.choice(["$and", "$or"]): parts}
    key = dice.choice(list(VALUES))
    allowed = OPERATORS if key == "number" else ["$eq", "$ne", "$in", "$nin"]
    name = dice.choice(allowed)
    if name in ("$in", "$nin"):
        return {key: {name: dice.sample(VALUES[key], dice.randint(1, 2))}}
    value = dice.choice(VALUES[key])
    return {key: value} if name == "$eq" and dice.random() < 0.5 else {key: {name: value}}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> VectorStore:
    dice = random.Random(3)
    store = VectorStore(Place(tmp_path_factory.mktemp("filters") / "chroma"), lambda: "model")
    records = [
        Record(
            str(place),
            "text",
            # One key in ten is missing: other programs write collections too.
            {"all": 1}
            | {key: dice.choice(values) for key, values in VALUES.items() if dice.random() < 0.9},
        )
        for place in range(300)
    ]
    vectors = np.random.default_rng(3).normal(size=(300, 8)).astype(np.float32)
    store.upsert("things", records, vectors)
    return store


@pytest.mark.parametrize("seed", range(60))
def test_a_filter_means_what_it_means_to_chroma(store: VectorStore, seed: int) -> None:
    where = random_filter(random.Random(seed))
    ours = {record.id for record in store.get("things") if matches(record.metadata, where)}
    assert ours == {record.id for record in store.get("things", where=where)}, where


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("limit", [1, 5, 40])
def test_a_query_finds_what_chroma_finds_with_its_own_filter(
    store: VectorStore, seed: int, limit: int
) -> None:
    where = random_filter(random.Random(seed))
    vector = np.random.default_rng(seed).normal(size=8).astype(np.float32)
    ours = [hit.record.id for hit in store.query("things", vector, limit, where)]
    assert ours == [hit.record.id for hit in store._nearest("things", vector, limit, where)]


def test_conditions_are_put_together_without_empty_ones() -> None:
    assert all_of(None, {}) is None
    assert all_of(None, {"a": 1}) == {"a": 1}
    assert all_of({"a": 1}, {"b": 2}) == {"$and": [{"a": 1}, {"b": 2}]}


def test_what_lacks_the_key_differs_from_every_value() -> None:
    assert matches({}, {"kind": {"$ne": "a"}})
    assert not matches({}, {"kind": "a"})
