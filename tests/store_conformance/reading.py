"""Reads by ids, by filter, and of entire collections."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from quinion.errors import InvalidInput
from quinion.store.base import MirrorLag, Selector, VectorStore
from tests.store_conformance.adapter import (
    Adapter,
    OpenStore,
    check_intact,
    contents,
    ids,
    record,
    vector_of,
    vectors_of,
    write,
)
from tests.store_conformance.transactions import change_everything, fill


class ReadingConformance(Adapter):
    def test_an_empty_store_has_nothing(self, store: VectorStore) -> None:
        assert store.collections() == []
        assert store.values() == {}
        assert store.check_files() == []
        assert store.mirror_lag() == MirrorLag()

    @pytest.mark.parametrize("emptied", [False, True])
    def test_no_records_are_no_error(self, store: VectorStore, emptied: bool) -> None:
        if emptied:
            write(store, "c", [record("a", k=1)])
            with store.transaction() as transaction:
                transaction.delete(Selector.by_ids("c", ["a"]))
        selectors = [
            Selector.everything("c"),
            Selector.by_ids("c", ["a"]),
            Selector.by_ids("c", []),
            Selector.by_values("c", k=1),
        ]
        for selector in selectors:
            assert store.count(selector) == 0
            found, vectors = store.get_with_vectors(selector)
            assert found == []
            assert len(vectors) == 0
        for where in (None, {"k": 1}, {"k": {"$ne": 1}}):
            assert store.get("c", where=where) == []
            assert store.search_vectors("c", vector_of("a"), 5, where) == []
        assert store.get("c", ids=["a"]) == []
        report = store.check("c", repair=True)
        assert (report.records, report.problems, report.repaired) == (0, (), ())

    def test_the_newest_records_come_in_pages(self, store: VectorStore) -> None:
        assert store.get_newest("c", 0, 10) == []
        records = [record(f"r{number}", even=number % 2 == 0) for number in range(7)]
        write(store, "c", records)
        newest = records[::-1]
        assert store.get_newest("c", 0, 3) == newest[:3]
        assert store.get_newest("c", 3, 10) == newest[3:]
        assert store.get_newest("c", 7, 10) == []
        assert store.get_newest("c", 1, 2, {"even": True}) == newest[::2][1:3]
        assert store.get_newest("c", 1, 9, {"even": {"$ne": True}}) == newest[1::2][1:]
        assert store.get_newest("c", 0, 9, {"k": 1}) == []
        with store.transaction() as transaction:
            transaction.delete(Selector.by_ids("c", ["r6"]))
        assert store.get_newest("c", 0, 1) == newest[1:2]

    def test_one_record_is_found_in_every_way(self, store: VectorStore) -> None:
        one = record("a", k=1)
        write(store, "c", [one])
        for selector in (
            Selector.everything("c"),
            Selector.by_ids("c", ["a"]),
            Selector.by_values("c", k=1),
        ):
            assert store.count(selector) == 1
            [found], vectors = store.get_with_vectors(selector)
            assert found == one
            np.testing.assert_array_equal(vectors, vectors_of([one]))
        for where in (None, {"k": 1}, {"k": {"$ne": 2}}):
            assert store.get("c", where=where) == [one]
            [hit] = store.search_vectors("c", vector_of(one.text), 5, where)
            assert hit.record == one
        assert store.collections() == ["c"]
        assert store.check("c").records == 1

    def test_records_come_in_the_order_of_their_insertion(self, store: VectorStore) -> None:
        names = ["m", "a", "z", "k", "10", "9"]
        for name in names:
            write(store, "other", [record(name, k=1)])
            write(store, "c", [record(name, k=1)])
        assert ids(store.get("c")) == names
        assert ids(store.get("c", where={"k": 1})) == names
        assert ids(store.get("c", ids=["9", "z", "m"])) == ["m", "z", "9"]
        found, vectors = store.get_with_vectors(Selector.by_ids("c", ["9", "z", "m"]))
        assert ids(found) == ["m", "z", "9"]
        np.testing.assert_array_equal(vectors, vectors_of(found))
        found, vectors = store.get_with_vectors(Selector.by_values("c", k=1))
        assert ids(found) == names
        np.testing.assert_array_equal(vectors, vectors_of(found))

    def test_ids_are_read_once_each_and_missing_ones_are_left_out(self, store: VectorStore) -> None:
        write(store, "c", [record("a"), record("b")])
        assert ids(store.get("c", ids=["b", "missing", "b", "A", ""])) == ["b"]
        assert store.get("c", ids=[]) == []
        assert store.count(Selector.by_ids("c", ["b", "missing", "b"])) == 1

    def test_ids_and_a_filter_both_have_to_match(self, store: VectorStore) -> None:
        write(store, "c", [record(str(n), half=n % 2) for n in range(6)])
        assert ids(store.get("c", ids=["1", "2", "3"], where={"half": 1})) == ["1", "3"]

    def test_selected_records_are_counted(self, store: VectorStore) -> None:
        write(store, "c", [record(str(n), half=n % 2, third=n % 3) for n in range(12)])
        assert store.count(Selector.everything("c")) == 12
        assert store.count(Selector.by_values("c", half=1)) == 6
        assert store.count(Selector.by_values("c", half=1, third=1)) == 2
        assert store.count(Selector.by_values("c", half=2)) == 0
        assert store.count(Selector.by_ids("c", ["1", "2"])) == 2
        with store.transaction() as transaction:
            transaction.delete(Selector.by_values("c", half=0))
        assert store.count(Selector.everything("c")) == 6

    def test_names_of_collections_may_be_unusual(self, store: VectorStore) -> None:
        names = ["a b", "A b", "../up", "a/b", "%", "'", '"', "図面", "x" * 300, "DROP TABLE x;--"]
        for name in names:
            write(store, name, [record("a", name)])
        assert sorted(store.collections()) == sorted(names)
        for name in names:
            assert store.get(name) == [record("a", name)]

    def test_modifying_returned_records_does_not_change_the_store(self, store: VectorStore) -> None:
        write(store, "c", [record("a", k=1)])
        [found], vectors = store.get_with_vectors(Selector.everything("c"))
        vectors[:] = 0
        assert store.get("c") == [found]
        again = store.get_with_vectors(Selector.everything("c"))[1]
        np.testing.assert_array_equal(again, vectors_of([found]))

    def test_vectors_are_copied_when_they_are_written(self, store: VectorStore) -> None:
        given = vectors_of([record("a")])
        with store.transaction() as transaction:
            transaction.upsert("c", [record("a")], given, "")
        given[:] = 0
        _, vectors = store.get_with_vectors(Selector.everything("c"))
        np.testing.assert_array_equal(vectors, vectors_of([record("a")]))

    def test_a_store_that_was_changed_in_every_way_is_intact(self, store: VectorStore) -> None:
        fill(store)
        with store.transaction() as transaction:
            change_everything(transaction)
        check_intact(store)
        for name in store.collections():
            report = store.check(name, repair=True)
            assert (report.problems, report.repaired) == ((), ())

    def test_a_copy_of_the_files_is_an_independent_store(
        self, store: VectorStore, tmp_path: Path
    ) -> None:
        fill(store)
        before = contents(store)
        if not self.has_files:
            with pytest.raises(InvalidInput):
                store.copy_to(tmp_path / "copy")
            return
        with store.freeze_writes():
            store.copy_to(tmp_path / "copy")
        write(store, "chunks", [record("later")])
        with closing(self.open(tmp_path / "copy")) as copy:
            assert contents(copy) == before
            check_intact(copy)
            with copy.transaction() as transaction:
                change_everything(transaction)
            check_intact(copy)
        assert len(store.get("chunks")) == 7

    def test_a_store_may_be_closed_twice(self, open_store: OpenStore) -> None:
        store = open_store()
        fill(store)
        before = contents(store)
        store.close()
        store.close()
        if self.durable:
            assert contents(open_store()) == before
