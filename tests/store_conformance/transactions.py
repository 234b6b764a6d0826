"""Transactions: atomic, serialised, and invisible until they are committed."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock

import numpy as np
import pytest

from quinion.store.base import Selector, Transaction, VectorStore
from tests.store_conformance.adapter import (
    DIMENSIONS,
    MODEL,
    PATIENCE_S,
    Adapter,
    contents,
    ids,
    record,
    vector_of,
    vectors_of,
    write,
)

SHORT_S = 0.1
"""Wait for events that must not happen."""


class Interrupted(BaseException):
    """Not derived from Exception, like KeyboardInterrupt."""


def fill(store: VectorStore) -> None:
    """Write two documents to two collections, a collection to drop, and values."""
    with store.transaction() as transaction:
        for document in ("a", "b"):
            chunks = [record(f"{document}{n}", document=document, n=n) for n in range(3)]
            transaction.upsert("chunks", chunks, vectors_of(chunks), MODEL)
            entry = [record(document, chunks=3)]
            transaction.upsert("registry", entry, vectors_of(entry), "")
        lines = [record("line")]
        transaction.upsert("lines", lines, vectors_of(lines), "model-b")
        transaction.set_value("kept", "1")
        transaction.set_value("deleted", "1")


def change_everything(transaction: Transaction) -> None:
    """Make each kind of change, to data written by `fill` or to new data."""
    new = [record("a0", "another text", document="a"), record("a9", document="a")]
    transaction.upsert("chunks", new, vectors_of(new), MODEL)
    assert transaction.update_metadata(Selector.by_values("chunks", document="a"), {"n": -1}) == 4
    assert transaction.delete(Selector.by_values("chunks", document="b")) == 3
    assert transaction.delete(Selector.by_ids("registry", ["b"])) == 1
    assert transaction.delete(Selector.everything("lines")) == 1
    created = [record("x")]
    transaction.upsert("created", created, vectors_of(created), "model-c")
    transaction.set_value("kept", "2")
    transaction.set_value("new", "2")
    transaction.delete_value("deleted")


class TransactionConformance(Adapter):
    def test_all_changes_of_a_transaction_are_committed(self, store: VectorStore) -> None:
        fill(store)
        with store.transaction() as transaction:
            change_everything(transaction)
        assert sorted(store.collections()) == ["chunks", "created", "registry"]
        chunks = store.get("chunks")
        assert ids(chunks) == ["a0", "a1", "a2", "a9"]
        assert chunks[0].text == "another text"
        assert [one.metadata["n"] for one in chunks] == [-1] * 4
        assert ids(store.get("registry")) == ["a"]
        assert store.get("created") == [record("x")]
        assert (store.model("lines"), store.model("created")) == ("", "model-c")
        assert store.values() == {"kept": "2", "new": "2"}

    @pytest.mark.parametrize("error", [ValueError, Interrupted])
    def test_a_transaction_that_raises_changes_nothing(
        self, store: VectorStore, error: type[BaseException]
    ) -> None:
        fill(store)
        before = contents(store)
        nearest = store.search_vectors("chunks", vector_of("the text of a0"), 6)
        raised = error("in the middle")
        with pytest.raises(error) as caught, store.transaction() as transaction:
            change_everything(transaction)
            raise raised
        assert caught.value is raised
        assert contents(store) == before
        assert store.search_vectors("chunks", vector_of("the text of a0"), 6) == nearest
        with store.transaction() as transaction:
            change_everything(transaction)
        assert contents(store) != before

    def test_the_store_can_be_used_after_many_rolled_back_transactions(
        self, store: VectorStore
    ) -> None:
        fill(store)
        before = contents(store)
        for _ in range(20):
            with pytest.raises(Interrupted), store.transaction() as transaction:
                change_everything(transaction)
                raise Interrupted
        assert contents(store) == before

    def test_a_collection_whose_creation_was_rolled_back_may_get_other_dimensions(
        self, store: VectorStore
    ) -> None:
        for dimensions in (3, 40):
            with pytest.raises(Interrupted), store.transaction() as transaction:
                vectors = np.ones((5, dimensions), np.float32)
                transaction.upsert("c", [record(str(n)) for n in range(5)], vectors, "other")
                raise Interrupted
        assert store.collections() == []
        write(store, "c", [record("x"), record("y")])
        found, vectors = store.get_with_vectors(Selector.everything("c"))
        np.testing.assert_array_equal(vectors, vectors_of(found))
        assert store.model("c") == MODEL

    def test_a_transaction_sees_its_own_changes(self, store: VectorStore) -> None:
        with store.transaction() as transaction:
            assert transaction.model("c") == ""
            records = [record("x", kind="new"), record("y", kind="new")]
            transaction.upsert("c", records, vectors_of(records), MODEL)
            assert transaction.model("c") == MODEL
            changed = transaction.update_metadata(Selector.by_ids("c", ["x"]), {"kind": "old"})
            assert changed == 1
            assert transaction.delete(Selector.by_values("c", kind="new")) == 1
            assert transaction.delete(Selector.by_values("c", kind="new")) == 0
        assert store.get("c") == [record("x", kind="old")]

    def test_a_dropped_collection_can_be_created_again_in_the_same_transaction(
        self, store: VectorStore
    ) -> None:
        write(store, "c", [record(str(n)) for n in range(5)])
        with store.transaction() as transaction:
            assert transaction.delete(Selector.everything("c")) == 5
            assert transaction.model("c") == ""
            vectors = np.eye(2, 3, dtype=np.float32)
            transaction.upsert("c", [record("1"), record("x")], vectors, "model-b")
        found, vectors = store.get_with_vectors(Selector.everything("c"))
        assert ids(found) == ["1", "x"]
        np.testing.assert_array_equal(vectors, np.eye(2, 3, dtype=np.float32))
        assert store.model("c") == "model-b"

    def test_an_empty_transaction_changes_nothing(self, store: VectorStore) -> None:
        fill(store)
        before = contents(store)
        with store.transaction():
            pass
        assert contents(store) == before

    def test_an_open_transaction_is_invisible_to_other_threads(self, store: VectorStore) -> None:
        fill(store)
        before = contents(store)
        with ThreadPoolExecutor(1) as thread:
            with store.transaction() as transaction:
                change_everything(transaction)
                reading = thread.submit(contents, store)
                if not self.readers_wait:
                    assert reading.result(PATIENCE_S) == before
            after = contents(store)
            assert after != before
            if self.readers_wait:
                assert reading.result(PATIENCE_S) == after

    def test_a_rolled_back_transaction_was_never_visible(self, store: VectorStore) -> None:
        fill(store)
        before = contents(store)
        with ThreadPoolExecutor(1) as thread:
            with pytest.raises(Interrupted), store.transaction() as transaction:
                change_everything(transaction)
                reading = thread.submit(contents, store)
                if not self.readers_wait:
                    assert reading.result(PATIENCE_S) == before
                raise Interrupted
            assert reading.result(PATIENCE_S) == before

    def test_transactions_are_serialised(self, store: VectorStore) -> None:
        inside = Lock()

        def add(number: int) -> None:
            with store.transaction() as transaction:
                assert inside.acquire(blocking=False)
                one = [record(str(number), number=number)]
                transaction.upsert("c", one, vectors_of(one), MODEL)
                inside.release()

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(add, range(40)))
        assert sorted(ids(store.get("c")), key=int) == [str(n) for n in range(40)]

    def test_frozen_writes_wait_and_reads_continue(self, store: VectorStore) -> None:
        fill(store)
        before = contents(store)
        begun, entered = Event(), Event()

        def write_value() -> None:
            begun.set()
            with store.transaction() as transaction:
                entered.set()
                transaction.set_value("late", "1")

        with ThreadPoolExecutor(2) as threads:
            with store.freeze_writes():
                writing = threads.submit(write_value)
                assert begun.wait(PATIENCE_S)
                assert contents(store) == before
                assert threads.submit(contents, store).result(PATIENCE_S) == before
                assert not entered.wait(SHORT_S)
                assert contents(store) == before
            writing.result(PATIENCE_S)
        assert store.values("late") == {"late": "1"}

    def test_writes_are_frozen_after_the_transaction_that_is_open(self, store: VectorStore) -> None:
        frozen, thaw = Event(), Event()

        def freeze() -> None:
            with store.freeze_writes():
                frozen.set()
                assert thaw.wait(PATIENCE_S)

        with ThreadPoolExecutor(1) as thread:
            with store.transaction() as transaction:
                freezing = thread.submit(freeze)
                assert not frozen.wait(SHORT_S)
                transaction.set_value("a", "1")
            assert frozen.wait(PATIENCE_S)
            assert store.values() == {"a": "1"}
            thaw.set()
            freezing.result(PATIENCE_S)

    def test_an_error_while_writes_are_frozen_unfreezes_them(self, store: VectorStore) -> None:
        with pytest.raises(ValueError, match="in the block"), store.freeze_writes():
            raise ValueError("in the block")
        write(store, "c", [record("x")])
        assert store.count(Selector.everything("c")) == 1

    def test_vectors_keep_their_numbers_exactly(self, store: VectorStore) -> None:
        numbers = np.array([[0.1, -0.0, 1e-30, 3e20, 0, 1, -1, 1 / 3]], np.float32)
        assert numbers.shape == (1, DIMENSIONS)
        with store.transaction() as transaction:
            transaction.upsert("c", [record("x")], numbers, MODEL)
        _, vectors = store.get_with_vectors(Selector.everything("c"))
        assert vectors.dtype == np.float32
        assert vectors.tobytes() == numbers.tobytes()
