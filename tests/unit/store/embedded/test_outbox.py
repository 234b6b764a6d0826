"""Outbox: contains one entry per changed record of each transaction."""

from pathlib import Path

import pytest

from quinion.model.record import Record
from quinion.store.base import Selector
from quinion.store.embedded.store import EmbeddedStore
from tests.unit.store.stores import open_store, records, vectors, write


def waiting(store: EmbeddedStore, collection: str = "c") -> list[str]:
    return [*store.outbox.read(collection)]


@pytest.fixture
def store(tmp_path: Path) -> EmbeddedStore:
    """A store with three replicated records."""
    store = open_store(tmp_path, mirrored=True)
    write(store, "c", records(3, kind="old"))
    store.outbox.remove(store.outbox.read("c").values())
    assert store.outbox.count() == {}
    return store


def test_every_changed_record_is_in_it_once(store: EmbeddedStore) -> None:
    with store.transaction() as transaction:
        transaction.update_metadata(Selector.by_ids("c", ["id 0"]), {"kind": "new"})
        transaction.delete(Selector.by_ids("c", ["id 1"]))
    write(store, "c", [Record("id 2", "text", {"n": 2})])
    assert waiting(store) == ["id 0", "id 1", "id 2"]
    with store.transaction() as transaction:
        transaction.update_metadata(Selector.by_ids("c", ["id 0"]), {"kind": "newer"})
    assert waiting(store) == ["id 1", "id 2", "id 0"]


def test_a_record_that_changes_while_it_is_sent_stays_in_it(store: EmbeddedStore) -> None:
    write(store, "c", records(2))
    sent = store.outbox.read("c")
    write(store, "c", records(1))
    store.outbox.remove(sent.values())
    assert waiting(store) == ["id 0"]


def test_a_dropped_collection_is_one_entry(store: EmbeddedStore) -> None:
    write(store, "c", records(3))
    with store.transaction() as transaction:
        transaction.delete(Selector.everything("c"))
    assert waiting(store) == [""]
    write(store, "c", records(1))
    assert waiting(store) == ["", "id 0"]


def test_a_rolled_back_transaction_is_not_in_it(store: EmbeddedStore) -> None:
    with pytest.raises(KeyError), store.transaction() as transaction:
        transaction.delete(Selector.everything("c"))
        transaction.upsert("d", records(3), vectors(3), "")
        raise KeyError
    assert store.outbox.count() == {}


def test_collections_come_in_the_order_of_their_oldest_entry(store: EmbeddedStore) -> None:
    for name in ("z", "a", "z"):
        write(store, name, records(1))
    write(store, "m", records(5))
    assert [*store.outbox.count().items()] == [("a", 1), ("z", 1), ("m", 5)]
    assert [*store.outbox.read("m", 2)] == ["id 0", "id 1"]


def test_without_a_mirror_nothing_is_in_it(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    write(store, "c", records(3))
    with store.transaction() as transaction:
        transaction.update_metadata(Selector.everything("c"), {"k": 1})
        transaction.delete(Selector.everything("c"))
    assert store.outbox.count() == {}
