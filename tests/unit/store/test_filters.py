"""Filters: same results as Chroma's filters, for every kind of query."""

import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.config import Settings as ChromaSettings

from quinion.model.record import Record
from quinion.store.embedded.store import EmbeddedStore
from quinion.store.filters import Where, all_of, any_of, matches
from tests.unit.store.stores import open_store, vectors, write

VALUES: dict[str, list[Any]] = {
    "kind": ["a", "b", "c"],
    "number": [1, 2, 3, 20240315, 99991231],
    "flag": [True, False],
}
OPERATORS = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin"]
COUNT = 300
INDEX = "quinion.store.embedded.vectors.vector_index"


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


@dataclass(frozen=True)
class Both:
    """The same records in a quinion store and in plain Chroma."""

    store: EmbeddedStore
    chroma: Any


@pytest.fixture(scope="module", params=[16_384, 100], ids=["uncoded", "coded"])
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Both]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{INDEX}.MIN_CODED", request.param)
        found = fill(tmp_path_factory.mktemp("filters"))
        with closing(found.store):
            yield found


def fill(folder: Path) -> Both:
    dice = random.Random(3)
    some = [
        Record(
            str(place),
            "text",
            # One key in ten is missing: other programs write collections too.
            {"all": 1}
            | {key: dice.choice(values) for key, values in VALUES.items() if dice.random() < 0.9},
        )
        for place in range(COUNT)
    ]
    store = open_store(folder / "store")
    write(store, "things", some, vectors(COUNT))
    client = chromadb.PersistentClient(
        folder / "chroma", settings=ChromaSettings(anonymized_telemetry=False)
    )
    collection = client.create_collection("things", embedding_function=None)
    collection.add(
        ids=[one.id for one in some],
        documents=[one.text for one in some],
        metadatas=[dict(one.metadata) for one in some],
        embeddings=vectors(COUNT),
    )
    return Both(store, collection)


@pytest.mark.parametrize("seed", range(60))
def test_a_filter_has_the_same_meaning_as_in_chroma(both: Both, seed: int) -> None:
    where = random_filter(random.Random(seed))
    theirs = set(both.chroma.get(where=where)["ids"])
    assert {record.id for record in both.store.get("things", where=where)} == theirs, where
    all_records = both.store.get("things")
    assert {record.id for record in all_records if matches(record.metadata, where)} == theirs


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("limit", [1, 5, 40])
@pytest.mark.parametrize("many", [20_000, 20], ids=["few", "many"])
def test_a_search_finds_what_chroma_finds_with_its_own_filter(
    both: Both, monkeypatch: pytest.MonkeyPatch, seed: int, limit: int, many: int
) -> None:
    """Whichever way it is found."""
    monkeypatch.setattr(f"{INDEX}.MAX_EXACT", many)
    monkeypatch.setattr(f"{INDEX}.MAX_EXACT_SCATTERED", many)
    where = random_filter(random.Random(seed))
    [vector] = vectors(1, seed=seed + 1_000)
    ours = [hit.record.id for hit in both.store.search_vectors("things", vector, limit, where)]
    theirs = both.chroma.query(query_embeddings=[vector], n_results=limit, where=where)
    assert ours == theirs["ids"][0]


def test_conditions_are_put_together_without_empty_ones() -> None:
    assert all_of(None, {}) is None
    assert all_of(None, {"a": 1}) == {"a": 1}
    assert all_of({"a": 1}, {"b": 2}) == {"$and": [{"a": 1}, {"b": 2}]}
    assert any_of({"a": 1}) == {"a": 1}
    assert any_of({"a": 1}, {"b": 2}) == {"$or": [{"a": 1}, {"b": 2}]}


def test_records_without_the_key_differ_from_every_value() -> None:
    assert matches({}, {"kind": {"$ne": "a"}})
    assert not matches({}, {"kind": "a"})
