"""The ledger against a dictionary, over all that can be done to it, and over restarts."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import psutil
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from quinion.model.record import Record
from quinion.store.facts import LONGEST
from quinion.store.filters import Where, matches
from quinion.store.ledger import READERS, Ledger
from quinion.store.rows import Vectors

DIMENSIONS = 4
IDS = st.sampled_from([f"id {n}" for n in range(12)])
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(["", "a", "b", "ä\n", "x" * (LONGEST + 1)]),
    st.integers(-2, 3),
    st.sampled_from([0.5, 1.0, True, False]),
)
METADATA = st.dictionaries(st.sampled_from(["k", "l", "m"]), VALUES, max_size=3)
TEXT_OPERATORS = st.sampled_from(["$eq", "$ne", "$contains", "$not_contains"])


def unit_vector(seed: int) -> Vectors:
    vector = np.random.default_rng(seed).normal(size=DIMENSIONS).astype(np.float32)
    vector /= np.linalg.norm(vector)
    return vector


def leaf() -> st.SearchStrategy[Where]:
    keys = st.sampled_from(["k", "l", "m", "other"])
    equal = st.builds(lambda key, value: {key: value}, keys, VALUES)
    text = st.builds(
        lambda key, name, value: {key: {name: value}},
        keys,
        TEXT_OPERATORS,
        st.sampled_from(["a", "b", "x", ""]),
    )
    among = st.builds(lambda key, some: {key: {"$in": some}}, keys, st.lists(VALUES, max_size=3))
    order = st.builds(
        lambda key, name, value: {key: {name: value}},
        keys,
        st.sampled_from(["$gt", "$lte"]),
        VALUES,
    )
    return st.one_of(equal, text, among, order)


FILTERS: st.SearchStrategy[Where] = st.recursive(
    leaf(),
    lambda inner: st.builds(
        lambda name, parts: {name: parts},
        st.sampled_from(["$and", "$or"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=4,
)


class LedgerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(mkdtemp(prefix="ledger-"))
        self.ledger = Ledger(self.folder)
        self.model: dict[str, tuple[Record, Vectors]] = {}

    @rule(ids=st.lists(IDS, min_size=1, unique=True), data=st.data(), seed=st.integers(0, 99))
    def upsert(self, ids: list[str], data: st.DataObject, seed: int) -> None:
        records = [Record(id_, f"{id_} {seed}", data.draw(METADATA)) for id_ in ids]
        vectors = np.stack([unit_vector(seed + n) for n in range(len(ids))])
        self.ledger.upsert("things", records, vectors)
        self.model.update({r.id: (r, v) for r, v in zip(records, vectors, strict=True)})

    @rule(ids=st.lists(IDS, unique=True))
    def delete(self, ids: list[str]) -> None:
        self.ledger.delete("things", ids)
        for id_ in ids:
            self.model.pop(id_, None)

    @rule(ids=st.lists(IDS, unique=True), values=METADATA)
    def set_metadata(self, ids: list[str], values: dict[str, Any]) -> None:
        self.ledger.set_metadata("things", ids, values)
        for id_ in ids:
            if id_ in self.model:
                record, vector = self.model[id_]
                self.model[id_] = (
                    Record(id_, record.text, {**record.metadata, **values}),
                    vector,
                )

    @rule()
    def drop(self) -> None:
        self.ledger.drop("things")
        self.model.clear()

    @rule()
    def restart(self) -> None:
        self.ledger.close()
        self.ledger = Ledger(self.folder)

    @rule(where=FILTERS)
    def narrow(self, where: Where) -> None:
        expected = {id_ for id_, (r, _) in self.model.items() if matches(r.metadata, where)}
        assert {r.id for r in self.ledger.get("things", where=where)} == expected
        mask = self.ledger.candidates("things", where)
        if mask is not None:
            found = self.ledger.at("things", np.flatnonzero(mask).tolist()).values()
            assert expected <= {record.id for record in found}
            assert len(found) == np.count_nonzero(mask)

    @rule(seed=st.integers(0, 99), most=st.integers(1, 30))
    def find_nearest(self, seed: int, most: int) -> None:
        vector = unit_vector(seed)
        places, distances = self.ledger.nearest("things", vector, most)
        found = self.ledger.at("things", places.tolist())
        assert len(found) == min(most, len(self.model))
        assert (np.diff(distances) >= 0).all()
        others = [
            v for id_, (_, v) in self.model.items() if id_ not in {r.id for r in found.values()}
        ]
        nearest_other = min((np.sum((vector - v) ** 2) for v in others), default=np.inf)
        assert not len(distances) or distances[-1] <= nearest_other + 1e-5
        for place, distance in zip(places.tolist(), distances, strict=True):
            theirs = self.model[found[place].id][1]
            assert distance == pytest.approx(np.sum((vector - theirs) ** 2), abs=1e-5)

    @invariant()
    def everything_is_there(self) -> None:
        records = self.ledger.get("things")
        assert {r.id: r for r in records} == {id_: r for id_, (r, _) in self.model.items()}
        assert self.ledger.count("things") == len(self.model) == len(records)
        assert sorted(self.ledger.ids("things")) == sorted(self.model)
        for record, vector in zip(records, self.ledger.vectors("things", records), strict=True):
            np.testing.assert_array_equal(vector, self.model[record.id][1])

    def teardown(self) -> None:
        self.ledger.close()


TestLedger = LedgerMachine.TestCase
TestLedger.settings = settings(
    max_examples=60,
    stateful_step_count=25,
    suppress_health_check=list(HealthCheck),
)


def test_places_that_became_free_are_used_again(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    for turn in range(20):
        records = [Record(f"{turn} {n}", "text", {"turn": turn}) for n in range(300)]
        ledger.upsert("things", records, np.ones((300, DIMENSIONS), np.float32))
        ledger.delete("things", [record.id for record in records[:299]])
    assert ledger.count("things") == 20
    assert ledger.nearest("things", unit_vector(1), 20)[0].max() < 320
    ledger.close()


def test_more_facts_than_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quinion.store.facts.MOST_REMEMBERED", 3)
    ledger = Ledger(tmp_path)
    records = [Record(str(n), "text", {"n": n, "even": n % 2 == 0}) for n in range(20)]
    ledger.upsert("things", records, np.ones((20, DIMENSIONS), np.float32))
    ledger.delete("things", [str(n) for n in range(10)])
    assert [r.id for r in ledger.get("things", where={"n": {"$lt": 12}})] == ["10", "11"]
    assert ledger.candidates("things", {"$or": []}) is not None
    ledger.close()


def test_filters_while_records_come(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.upsert("c", [Record("first", "", {"k": "a"})], unit_vector(0)[None])
    with ThreadPoolExecutor() as threads:
        writing = threads.submit(_write_many, ledger, 600)
        while not writing.done():
            mask = ledger.candidates("c", {"k": "a"})
            assert mask is not None
            assert mask[0]
        writing.result()
    ledger.close()


def _write_many(ledger: Ledger, count: int) -> None:
    for n in range(count):
        ledger.upsert("c", [Record(f"id {n}", "", {"k": "a"})], unit_vector(n)[None])


def test_many_readers_share_few_connections(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    records = [Record(f"id {n}", "text " * 100, {}) for n in range(5_000)]
    ledger.upsert("c", records, np.tile(unit_vector(0), (len(records), 1)))
    before = psutil.Process().num_fds()
    with ThreadPoolExecutor(4 * READERS) as threads:
        for found in threads.map(lambda _: ledger.ids("c"), range(8 * READERS)):
            assert len(found) == len(records)
    # Each has the database and its log open.
    assert psutil.Process().num_fds() - before <= 2 * READERS
    ledger.close()
