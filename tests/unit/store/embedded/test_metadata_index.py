"""Metadata index: candidates contain all matches, and deletions leave no entries behind."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quinion.model.record import Metadata, Record
from quinion.store.base import Selector
from quinion.store.embedded.bitmap import BLOCK
from quinion.store.embedded.metadata_index import (
    MAX_VALUE_CHARACTERS,
    all_slots,
    change,
    drop,
    entries,
    find_candidates,
    read_entries,
)
from quinion.store.embedded.schema import migrate
from quinion.store.filters import Where, matches
from tests.store_conformance.filtering import FILTERS, METADATA
from tests.unit.store.stores import open_store, write

LONG = "x" * (MAX_VALUE_CHARACTERS + 1)
COLLECTION = 7
SIZE = 20


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(open_database()) as database:
        yield database


def open_database() -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", isolation_level=None)
    migrate(database, "memory")
    return database


def candidates(
    database: sqlite3.Connection, where: Where, size: int = SIZE, collection: int = COLLECTION
) -> list[int] | None:
    mask = find_candidates(database, collection, where, size)
    return None if mask is None else np.flatnonzero(mask).tolist()


def count(database: sqlite3.Connection) -> tuple[int, int]:
    """Count the values and their blocks."""
    [(values,)] = database.execute("SELECT count(*) FROM metadata_values")
    [(postings,)] = database.execute("SELECT count(*) FROM metadata_postings")
    return values, postings


@given(
    some=st.dictionaries(st.integers(0, SIZE - 1), METADATA, min_size=1, max_size=8),
    others=st.dictionaries(st.integers(0, SIZE - 1), METADATA, max_size=3),
    filters=st.lists(FILTERS, min_size=1, max_size=4),
    gone=st.sets(st.integers(0, SIZE - 1)),
)
def test_candidates_contain_all_records_that_match_and_no_other_slots(
    some: dict[int, Metadata],
    others: dict[int, Metadata],
    filters: list[Where],
    gone: set[int],
) -> None:
    with closing(open_database()) as database:
        change(database, COLLECTION, added=some.items())
        change(database, COLLECTION + 1, added=others.items())
        removed = [(slot, some[slot]) for slot in gone & some.keys()]
        # A removed record may come back at the same slot with other metadata, or at another slot.
        added: dict[int, Metadata] = {
            slot: {**some[slot], "new": slot} for slot, _ in removed if slot % 3 == 0
        }
        added |= {slot + SIZE: some[slot] for slot, _ in removed if slot % 3 == 1}
        change(database, COLLECTION, removed=removed, added=added.items())
        left = {slot: metadata for slot, metadata in some.items() if slot not in gone} | added
        live = all_slots(database, COLLECTION, 2 * SIZE)
        assert np.flatnonzero(live).tolist() == sorted(left)
        for where in filters:
            mask = find_candidates(database, COLLECTION, where, 2 * SIZE)
            matching = {slot for slot, metadata in left.items() if matches(metadata, where)}
            if mask is not None:
                assert matching <= set(np.flatnonzero(mask).tolist()) <= left.keys()
        assert sorted(read_entries(database, COLLECTION)) == sorted(entries(left.items()))


def test_candidates_of_short_values_are_exact(database: sqlite3.Connection) -> None:
    change(database, COLLECTION, added=[(n, {"n": n, "half": n % 2}) for n in range(SIZE)])
    assert candidates(database, {"n": 3}) == [3]
    assert candidates(database, {"n": {"$gte": 17}}) == [17, 18, 19]
    assert candidates(database, {"n": {"$in": [1, 2.0, "3"]}}) == [1, 2]
    assert candidates(database, {"n": {"$lt": 6}, "half": 1}) == [1, 3, 5]
    assert candidates(database, {"$or": [{"n": 1}, {"n": 2}]}) == [1, 2]
    assert candidates(database, {"half": {"$ne": 0}}) == list(range(1, SIZE, 2))
    assert candidates(database, {"$or": []}) == []
    assert candidates(database, {"n": 3}, collection=COLLECTION + 1) == []


def test_long_values_are_matched_against_the_records(database: sqlite3.Connection) -> None:
    change(database, COLLECTION, added=[(0, {"k": LONG}), (1, {"k": "short"}), (2, {"l": 1})])
    assert candidates(database, {"k": LONG}) is None
    assert candidates(database, {"k": {"$contains": "x"}}) is None
    # One with a long value may differ; one with this value does not.
    assert candidates(database, {"k": {"$ne": "short"}}, size=3) == [0, 2]
    assert candidates(database, {"k": LONG, "l": 1}) == [2]
    assert candidates(database, {"l": 1}) == [2]


def test_values_that_no_record_has_any_more_are_dropped(database: sqlite3.Connection) -> None:
    rows: list[tuple[int, Metadata]] = [(n, {"n": n, "half": n % 2}) for n in range(10)]
    change(database, COLLECTION, added=rows)
    assert count(database) == (10 + 2 + 1, 10 + 2 + 1)
    change(database, COLLECTION, removed=rows[:4])
    assert count(database) == (6 + 2 + 1, 6 + 2 + 1)
    change(database, COLLECTION, removed=rows[4:])
    assert count(database) == (0, 0)


def test_a_dropped_index_leaves_that_of_other_collections(database: sqlite3.Connection) -> None:
    change(database, 1, added=[(0, {"k": "a"})])
    change(database, 2, added=[(0, {"k": "a"}), (1, {"k": "b"})])
    drop(database, 1)
    assert candidates(database, {"k": "a"}, collection=1) == []
    assert candidates(database, {"k": {"$in": ["a", "b"]}}, collection=2) == [0, 1]


def test_slots_of_several_blocks(database: sqlite3.Connection) -> None:
    slots = [0, BLOCK - 1, BLOCK, 3 * BLOCK + 5]
    change(database, COLLECTION, added=[(slot, {"k": "a"}) for slot in slots])
    assert candidates(database, {"k": "a"}, size=4 * BLOCK) == slots
    assert candidates(database, {"k": "a"}, size=BLOCK) == slots[:2]
    change(database, COLLECTION, removed=[(BLOCK, {"k": "a"})])
    assert candidates(database, {"k": "a"}, size=4 * BLOCK) == [0, BLOCK - 1, 3 * BLOCK + 5]


@pytest.mark.parametrize(
    ("damage", "difference"),
    [
        ("UPDATE metadata_values SET value = '9' WHERE value = '1'", "a value"),
        ("UPDATE metadata_values SET key = 'm' WHERE value = '1'", "a key"),
        ("UPDATE metadata_postings SET slots = x'0700' WHERE slots = x'0100'", "a slot"),
        ("UPDATE metadata_postings SET block = 1 WHERE slots = x'0100'", "a block"),
        ("DELETE FROM metadata_postings WHERE slots = x'0100'", "a posting"),
    ],
    ids=lambda value: str(value)[:8],
)
def test_any_change_of_the_index_is_detected(
    database: sqlite3.Connection, damage: str, difference: str
) -> None:
    rows: list[tuple[int, Metadata]] = [(0, {"k": 0}), (1, {"k": 1}), (2, {"k": 2})]
    change(database, COLLECTION, added=rows)
    expected = set(entries(rows))
    assert set(read_entries(database, COLLECTION)) == expected
    assert database.execute(damage).rowcount > 0
    assert set(read_entries(database, COLLECTION)) != expected, difference


def test_values_of_a_rolled_back_transaction_are_gone(tmp_path: Path) -> None:
    """The next transaction assigns them to other values."""
    store = open_store(tmp_path)
    write(store, "c", [Record("a", "", {"k": "committed"})])

    def change(value: Any) -> None:
        with store.transaction() as transaction:
            transaction.update_metadata(Selector.everything("c"), {"k": value})
            transaction.update_metadata(Selector.everything("c"), {"l": value})
            if value == "rolled back":
                raise KeyError

    for value in ("rolled back", "other", "rolled back", "last"):
        if value == "rolled back":
            with pytest.raises(KeyError):
                change(value)
        else:
            change(value)
            assert len(store.get("c", where={"k": value, "l": value})) == 1
    assert store.get("c", where={"k": "rolled back"}) == []
    assert store.check("c").problems == ()
