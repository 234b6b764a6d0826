"""Random histories of a store, compared with a store of plain dictionaries."""

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from quinion.lexical.word_query import parse_query
from quinion.model.record import Metadata, Record
from quinion.store.base import Selector, Transaction
from quinion.store.filters import Where
from tests.store_conformance.adapter import (
    MODEL,
    Adapter,
    check_hits,
    check_intact,
    contents,
    vector_of,
    vectors_of,
)
from tests.store_conformance.dictionary_store import DictionaryStore
from tests.store_conformance.filtering import FILTERS, KEYS, METADATA, VALUES
from tests.store_conformance.words import by_both, by_words, check_same

Change = Callable[[Transaction], object]
"""A change within a transaction; its return value is compared."""

COLLECTIONS = st.sampled_from(["a", "b"])
IDS = st.sampled_from([f"id {n}" for n in range(9)])
QUERIES = st.sampled_from(
    ["edition 3", "id 1", "a long", "the", "ab", "n", "editoin", "x", '"id 2"']
)
SELECTORS = st.one_of(
    st.builds(Selector.by_ids, COLLECTIONS, st.lists(IDS, max_size=5)),
    st.builds(
        lambda name, values: Selector(name, values=tuple(values.items())),
        COLLECTIONS,
        st.dictionaries(KEYS, VALUES, min_size=1, max_size=2),
    ),
    st.builds(Selector.everything, COLLECTIONS),
)


class Stop(Exception):
    """Rolls a transaction back."""


def upsert(collection: str, some: list[tuple[str, int, Metadata]], model: str) -> Change:
    records = [Record(id_, f"{id_}, edition {edition}", values) for id_, edition, values in some]
    return lambda transaction: transaction.upsert(collection, records, vectors_of(records), model)


def update(selector: Selector, values: Metadata) -> Change:
    return lambda transaction: transaction.update_metadata(selector, values)


def delete(selector: Selector) -> Change:
    return lambda transaction: transaction.delete(selector)


def set_value(key: str, value: str) -> Change:
    return lambda transaction: transaction.set_value(key, value)


def delete_value(key: str) -> Change:
    return lambda transaction: transaction.delete_value(key)


UPSERTS = st.builds(
    upsert,
    COLLECTIONS,
    st.lists(st.tuples(IDS, st.integers(0, 9), METADATA), max_size=8),
    st.sampled_from(["", MODEL]),
)
CHANGES = st.one_of(
    UPSERTS,
    UPSERTS,
    st.builds(update, SELECTORS, METADATA),
    st.builds(delete, SELECTORS),
    st.builds(set_value, KEYS, st.text(st.characters(exclude_categories=["Cs"]), max_size=3)),
    st.builds(delete_value, KEYS),
    st.builds(lambda name: lambda transaction: transaction.model(name), COLLECTIONS),
)
TRANSACTIONS = st.lists(CHANGES, min_size=1, max_size=4)


class History(RuleBasedStateMachine):
    """State machine that applies the same transactions to a store and to dictionaries."""

    adapter: Adapter

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(mkdtemp(prefix="store-"))
        self.store = self.adapter.open(self.folder / "store")
        self.dictionary = DictionaryStore()

    @rule(changes=TRANSACTIONS)
    def commit(self, changes: list[Change]) -> None:
        with self.store.transaction() as ours, self.dictionary.transaction() as theirs:
            for change in changes:
                assert change(ours) == change(theirs)

    @rule(changes=TRANSACTIONS)
    def roll_back(self, changes: list[Change]) -> None:
        with pytest.raises(Stop), self.store.transaction() as transaction:
            for change in changes:
                change(transaction)
            raise Stop

    @rule()
    def reopen(self) -> None:
        if self.adapter.durable:
            self.store.close()
            self.store = self.adapter.open(self.folder / "store")

    @rule(name=COLLECTIONS, where=FILTERS, ids=st.none() | st.lists(IDS, max_size=4))
    def get(self, name: str, where: Where, ids: list[str] | None) -> None:
        expected = self.dictionary.get(name, ids=ids, where=where)
        assert self.store.get(name, ids=ids, where=where) == expected

    @rule(selector=SELECTORS)
    def select(self, selector: Selector) -> None:
        assert self.store.count(selector) == self.dictionary.count(selector)
        found = self.store.get_with_vectors(selector)[0]
        assert found == self.dictionary.get_with_vectors(selector)[0]

    @rule(
        name=COLLECTIONS,
        id_=IDS,
        edition=st.integers(0, 9),
        limit=st.integers(1, 12),
        where=st.none() | FILTERS,
    )
    def search(self, name: str, id_: str, edition: int, limit: int, where: Where | None) -> None:
        query = vector_of(f"{id_}, edition {edition}")
        records, vectors = self.dictionary.get_with_vectors(Selector.everything(name))
        hits = self.store.search_vectors(name, query, limit, where)
        check_hits(hits, records, vectors, query, limit, where)

    @rule(
        name=COLLECTIONS, query=QUERIES, where=st.none() | FILTERS, nearest=st.sampled_from([0, 99])
    )
    def search_words(self, name: str, query: str, where: Where | None, nearest: int) -> None:
        rank = by_both if nearest else by_words
        found, expected = (
            store.search_words(
                name, parse_query(query), vector_of(query), 99, rank, nearest=nearest, where=where
            )
            for store in (self.store, self.dictionary)
        )
        check_same(found, expected)

    @rule(prefix=st.sampled_from(["", "k", "a", "ä", "%"]))
    def values(self, prefix: str) -> None:
        assert self.store.values(prefix) == self.dictionary.values(prefix)

    @rule()
    def check(self) -> None:
        check_intact(self.store)

    @invariant()
    def has_what_the_dictionary_has(self) -> None:
        assert contents(self.store) == contents(self.dictionary)

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)


class AgainstDictionary(Adapter):
    @pytest.mark.parametrize(
        ("examples", "steps"),
        [(30, 20), pytest.param(400, 40, marks=[pytest.mark.slow, pytest.mark.timeout(900)])],
    )
    def test_any_history_leaves_the_same_contents_as_a_dictionary(
        self, examples: int, steps: int
    ) -> None:
        history = type("History", (History,), {"adapter": self})
        run_state_machine_as_test(
            history,
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                suppress_health_check=list(HealthCheck),
            ),
        )
