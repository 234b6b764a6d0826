"""The outbox: what a transaction changed is in it, once for each record."""

from pathlib import Path

import numpy as np
import pytest

from quinion.model.record import Record
from quinion.store.base import Selector
from quinion.store.embedded.outbox import Change
from quinion.store.embedded.store import EmbeddedStore
from tests.unit.store.stores import open_store, records, vectors, write

ALL = 1_000


def changes(store: EmbeddedStore, collection: str = "c") -> dict[str, Change]:
    return {entry.id: entry.change for entry in store.read_outbox(collection, ALL)[0]}


@pytest.fixture
def store(tmp_path: Path) -> EmbeddedStore:
    """Three records that a mirror has got."""
    store = open_store(tmp_path, mirrored=True)
    write(store, "c", records(3, kind="old"))
    store.remove_from_outbox(store.read_outbox("c", ALL)[0])
    assert store.list_outbox() == (0, [])
    return store


def test_new_records_are_in_it_with_their_vectors(store: EmbeddedStore) -> None:
    write(store, "d", records(2))
    entries, found, theirs = store.read_outbox("d", ALL)
    assert [(entry.id, entry.change) for entry in entries] == [
        ("id 0", Change.ALL),
        ("id 1", Change.ALL),
    ]
    assert found == records(2)
    np.testing.assert_array_equal(theirs, vectors(2))
    assert store.list_outbox() == (2, ["d"])


def test_each_change_says_what_was_changed(store: EmbeddedStore) -> None:
    with store.transaction() as transaction:
        transaction.update_metadata(Selector.by_ids("c", ["id 0"]), {"kind": "new"})
        transaction.delete(Selector.by_ids("c", ["id 1"]))
    write(store, "c", [Record("id 2", "text", {"n": 2})])
    assert changes(store) == {
        "id 0": Change.METADATA,
        "id 1": Change.ALL,
        "id 2": Change.KEYS_REMOVED,
    }


def test_an_entry_keeps_the_largest_of_several_changes(store: EmbeddedStore) -> None:
    write(store, "c", [Record("id 0", "text", {"n": 0})])
    write(store, "c", records(2))
    with store.transaction() as transaction:
        transaction.update_metadata(Selector.everything("c"), {"kind": "new"})
    assert changes(store) == {
        "id 0": Change.KEYS_REMOVED,
        "id 1": Change.KEYS_REMOVED,
        "id 2": Change.METADATA,
    }
    assert store.list_outbox() == (3, ["c"])


def test_a_record_that_changes_while_it_is_sent_stays_in_it(store: EmbeddedStore) -> None:
    write(store, "c", records(2))
    sent = store.read_outbox("c", ALL)[0]
    write(store, "c", records(1))
    store.remove_from_outbox(sent)
    assert list(changes(store)) == ["id 0"]


def test_a_dropped_collection_is_one_entry(store: EmbeddedStore) -> None:
    write(store, "c", records(3))
    with store.transaction() as transaction:
        transaction.delete(Selector.everything("c"))
    assert changes(store) == {"": Change.DROP}
    write(store, "c", records(1))
    assert changes(store) == {"": Change.DROP, "id 0": Change.ALL}


def test_a_rolled_back_transaction_is_not_in_it(store: EmbeddedStore) -> None:
    with pytest.raises(KeyError), store.transaction() as transaction:
        transaction.delete(Selector.everything("c"))
        transaction.upsert("d", records(3), vectors(3), "")
        raise KeyError
    assert store.list_outbox() == (0, [])


def test_collections_come_in_the_order_of_their_oldest_entry(store: EmbeddedStore) -> None:
    for name in ("z", "a", "z"):
        write(store, name, records(1))
    write(store, "m", records(5))
    assert store.list_outbox() == (7, ["a", "z", "m"])
    assert [entry.id for entry in store.read_outbox("m", 2)[0]] == ["id 0", "id 1"]


def test_without_a_mirror_nothing_is_in_it(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write(store, "c", records(3))
    with store.transaction() as transaction:
        transaction.update_metadata(Selector.everything("c"), {"k": 1})
        transaction.delete(Selector.everything("c"))
    assert store.list_outbox() == (0, [])
