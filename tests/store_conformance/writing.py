"""Upserts, metadata updates, deletions and the key-value table."""

import numpy as np
import pytest

from quinion.errors import InvalidInput
from quinion.model.record import Metadata, Record
from quinion.store.base import Selector, VectorStore
from tests.store_conformance.adapter import (
    DIMENSIONS,
    MODEL,
    Adapter,
    check_hits,
    contents,
    ids,
    record,
    same_metadata,
    vector_of,
    vectors_of,
    write,
)

EVERYTHING = Selector.everything("c")


class WritingConformance(Adapter):
    def test_records_are_kept_with_their_text_metadata_and_vector(self, store: VectorStore) -> None:
        records = [
            record("a", "the first\ntext", s="x", i=1, f=1.0, yes=True, no=False, empty=""),
            record("b", "", large=2**53 - 1, negative=-1, small=1e-9, quote="'\"\\", tab="\t"),
            Record("", "an empty id", {}),
            Record(
                "ä 'q' \"d\" %_\\ \n 図 😀", "ünïcödé 図面 😀 \u2028", {"ключ \"'%": "значение 😀"}
            ),
            record("long", "long " * 50_000, value="v" * 5_000),
        ]
        write(store, "c", records)
        found, vectors = store.get_with_vectors(EVERYTHING)
        assert found == records
        for one, before in zip(found, records, strict=True):
            assert same_metadata(one.metadata, before.metadata)
        np.testing.assert_array_equal(vectors, vectors_of(records))

    def test_an_upsert_replaces_records_of_the_same_ids(self, store: VectorStore) -> None:
        write(store, "c", [record(id_, kind="old", left=1) for id_ in "abc"])
        changed = [record("b", "new text", kind="new"), record("d", kind="new")]
        write(store, "c", changed)
        found, vectors = store.get_with_vectors(EVERYTHING)
        assert {one.id: one for one in found}["b"] == changed[0]
        assert sorted(ids(found)) == ["a", "b", "c", "d"]
        np.testing.assert_array_equal(vectors, vectors_of(found))
        assert sorted(ids(store.get("c", where={"left": 1}))) == ["a", "c"]
        assert store.count(EVERYTHING) == 4
        hits = store.search_vectors("c", vector_of("new text"), 4)
        check_hits(hits, found, vectors, vector_of("new text"), 4)

    def test_a_replaced_record_keeps_its_place(self, store: VectorStore) -> None:
        write(store, "c", [record(id_) for id_ in "abc"])
        write(store, "c", [record("d"), record("a", "new")])
        assert ids(store.get("c")) == ["a", "b", "c", "d"]

    def test_the_last_record_of_a_duplicate_id_is_kept(self, store: VectorStore) -> None:
        twice = [record("a", "1", n=1), record("b", "2", n=2), record("a", "3", n=3)]
        for _ in range(2):  # new, then repeated
            write(store, "c", twice)
            found, vectors = store.get_with_vectors(EVERYTHING)
            assert ids(found) == ["a", "b"]
            assert found[0] == twice[2]
            np.testing.assert_array_equal(vectors, vectors_of(found))
            assert store.get("c", where={"n": 1}) == []
            assert store.count(EVERYTHING) == 2

    def test_no_records_are_no_collection(self, store: VectorStore) -> None:
        write(store, "c", [])
        assert store.collections() == []
        write(store, "c", [record("a")])
        before = contents(store)
        write(store, "c", [], "model-b")
        assert contents(store) == before

    def test_vectors_of_another_length_are_refused(self, store: VectorStore) -> None:
        write(store, "c", [record("a")])
        before = contents(store)
        for dimensions in (DIMENSIONS - 1, 2 * DIMENSIONS):
            with pytest.raises(InvalidInput, match=str(DIMENSIONS)):
                with store.transaction() as transaction:
                    transaction.set_value("key", "value")
                    both = [record("a", "new"), record("b")]
                    transaction.upsert("c", both, np.ones((2, dimensions), np.float32), MODEL)
            assert contents(store) == before
        write(store, "c", [record("b")])
        assert store.count(EVERYTHING) == 2

    def test_a_refused_upsert_does_not_affect_the_open_transaction(
        self, store: VectorStore
    ) -> None:
        write(store, "c", [record("a")])
        with store.transaction() as transaction:
            with pytest.raises(InvalidInput):
                transaction.upsert("c", [record("a", "x")], np.ones((1, 2), np.float32), MODEL)
            transaction.set_value("key", "value")
        assert store.get("c") == [record("a")]
        assert store.values() == {"key": "value"}

    def test_collections_may_differ_in_dimensions_and_share_ids(self, store: VectorStore) -> None:
        for dimensions in (1, 2, 384):
            with store.transaction() as transaction:
                vectors = np.full((1, dimensions), dimensions, np.float32)
                text = f"in {dimensions}"
                transaction.upsert(text, [record("same", text)], vectors, MODEL)
        for dimensions in (1, 2, 384):
            name = f"in {dimensions}"
            [found], [vector] = store.get_with_vectors(Selector.everything(name))
            assert found.text == name
            assert vector.tolist() == [dimensions] * dimensions

    def test_metadata_is_changed_of_the_selected_records_alone(self, store: VectorStore) -> None:
        write(store, "c", [record(str(n), n=n, even=n % 2 == 0, left="x") for n in range(6)])
        write(store, "d", [record(str(n), n=n, even=n % 2 == 0) for n in range(6)])
        with store.transaction() as transaction:
            values: Metadata = {"even": "yes", "new": 1.5}
            assert transaction.update_metadata(Selector.by_values("c", even=True), values) == 3
            nobody = Selector.by_values("c", even=True)
            assert transaction.update_metadata(nobody, {"n": 0}) == 0
            by_ids = Selector.by_ids("c", ["1", "1", "missing"])
            assert transaction.update_metadata(by_ids, {"left": "changed"}) == 1
            assert transaction.update_metadata(Selector.by_ids("c", []), {"n": 0}) == 0
            assert transaction.update_metadata(Selector.everything("nowhere"), {"n": 0}) == 0
        found, vectors = store.get_with_vectors(EVERYTHING)
        assert [dict(one.metadata) for one in found] == [
            {"n": 0, "even": "yes", "left": "x", "new": 1.5},
            {"n": 1, "even": False, "left": "changed"},
            {"n": 2, "even": "yes", "left": "x", "new": 1.5},
            {"n": 3, "even": False, "left": "x"},
            {"n": 4, "even": "yes", "left": "x", "new": 1.5},
            {"n": 5, "even": False, "left": "x"},
        ]
        np.testing.assert_array_equal(vectors, vectors_of(found))
        assert ids(store.get("c", where={"new": {"$gt": 1}})) == ["0", "2", "4"]
        assert ids(store.get("c", where={"even": True})) == []
        assert store.count(Selector.by_values("d", even=True)) == 3

    def test_metadata_of_a_collection_is_changed(self, store: VectorStore) -> None:
        write(store, "c", [record(id_, kind=id_) for id_ in "abc"])
        with store.transaction() as transaction:
            assert transaction.update_metadata(EVERYTHING, {"kind": "x"}) == 3
            assert transaction.update_metadata(EVERYTHING, {}) == 3
        assert [dict(one.metadata) for one in store.get("c")] == [{"kind": "x"}] * 3

    def test_records_are_deleted_by_ids(self, store: VectorStore) -> None:
        write(store, "c", [record(id_) for id_ in "abcd"])
        with store.transaction() as transaction:
            assert transaction.delete(Selector.by_ids("c", ["b", "missing", "d", "b"])) == 2
            assert transaction.delete(Selector.by_ids("c", ["b"])) == 0
            assert transaction.delete(Selector.by_ids("nowhere", ["b"])) == 0
        assert ids(store.get("c")) == ["a", "c"]

    def test_records_are_deleted_by_values_that_all_have_to_match(self, store: VectorStore) -> None:
        write(store, "c", [record(str(n), half=n % 2, third=n % 3) for n in range(12)])
        with store.transaction() as transaction:
            assert transaction.delete(Selector.by_values("c", half=0, third=0)) == 2
            assert transaction.delete(Selector.by_values("c", half=0, third=0)) == 0
            assert transaction.delete(Selector.by_values("c", half=1)) == 6
            assert transaction.delete(Selector.by_values("c", missing=1)) == 0
        assert ids(store.get("c")) == ["2", "4", "8", "10"]

    def test_an_empty_list_of_ids_selects_nothing(self, store: VectorStore) -> None:
        write(store, "c", [record("a")])
        nothing = Selector.by_ids("c", [])
        with store.transaction() as transaction:
            assert transaction.delete(nothing) == 0
            assert transaction.update_metadata(nothing, {"k": 1}) == 0
        assert store.count(nothing) == 0
        assert store.get_with_vectors(nothing)[0] == []
        assert store.get("c") == [record("a")]

    def test_a_collection_that_is_deleted_is_gone_with_its_model(self, store: VectorStore) -> None:
        write(store, "c", [record(id_) for id_ in "abc"])
        write(store, "d", [record("a")])
        with store.transaction() as transaction:
            assert transaction.delete(EVERYTHING) == 3
            assert transaction.delete(EVERYTHING) == 0
        assert store.collections() == ["d"]
        assert store.model("c") == ""
        assert store.get("c") == []
        assert store.search_vectors("c", vector_of("a"), 3) == []
        assert store.get("d") == [record("a")]
        with store.transaction() as transaction:
            transaction.upsert("c", [record("x")], np.ones((1, 3), np.float32), "model-b")
        assert store.model("c") == "model-b"

    def test_a_collection_emptied_by_ids_or_values_keeps_its_model(
        self, store: VectorStore
    ) -> None:
        write(store, "c", [record("a", k=1), record("b", k=2)])
        with store.transaction() as transaction:
            assert transaction.delete(Selector.by_ids("c", ["a"])) == 1
            assert transaction.delete(Selector.by_values("c", k=2)) == 1
        assert store.collections() == ["c"]
        assert store.model("c") == MODEL
        assert store.count(EVERYTHING) == 0
        assert store.get("c") == []
        assert store.search_vectors("c", vector_of("a"), 3) == []
        write(store, "c", [record("b")], "model-b")
        assert store.model("c") == MODEL
        assert store.get("c") == [record("b")]

    def test_a_deleted_record_comes_back_at_the_end(self, store: VectorStore) -> None:
        write(store, "c", [record(id_) for id_ in "abc"])
        with store.transaction() as transaction:
            transaction.delete(Selector.by_ids("c", ["a"]))
        write(store, "c", [record("d"), record("a", "new")])
        found, vectors = store.get_with_vectors(EVERYTHING)
        assert ids(found) == ["b", "c", "d", "a"]
        np.testing.assert_array_equal(vectors, vectors_of(found))

    def test_a_collection_keeps_the_model_of_its_first_records(self, store: VectorStore) -> None:
        assert store.model("c") == ""
        write(store, "c", [record("a")], MODEL)
        write(store, "c", [record("b")], "model-b")
        write(store, "c", [record("b")], "")
        assert store.model("c") == MODEL
        write(store, "d", [record("a")], "")
        write(store, "d", [record("b")], MODEL)
        assert store.model("d") == ""
        with store.transaction() as transaction:
            assert transaction.model("c") == MODEL
            assert (transaction.model("d"), transaction.model("nowhere")) == ("", "")

    def test_values_are_kept_by_key(self, store: VectorStore) -> None:
        assert store.values() == {}
        with store.transaction() as transaction:
            transaction.set_value("a", "1")
            transaction.set_value("b", "2")
            transaction.set_value("a", "")
            transaction.delete_value("missing")
        assert store.values() == {"a": "", "b": "2"}
        with store.transaction() as transaction:
            transaction.delete_value("a")
            transaction.set_value("b", "3")
        assert store.values() == {"b": "3"}
        assert store.collections() == []

    def test_values_are_found_by_the_prefix_of_their_keys(self, store: VectorStore) -> None:
        keys = ["", "a", "a:", "a:b", "A:b", "a%", "a%b", "a_b", "aXb", "'a'", '"a"', "a\\b", "*a"]
        keys += ["[a]", "?", "ä", "äö", "図面:1", "😀", "😀x", "a\nb", " a", "a:b:c", "x" * 1000]
        with store.transaction() as transaction:
            for key in keys:
                transaction.set_value(key, f"value of {key} 'q' \" % 図 😀")
        for prefix in ("", *keys, "a_", "%", "_", "x" * 999, "missing", "äö図"):
            expected = {
                key: f"value of {key} 'q' \" % 図 😀" for key in keys if key.startswith(prefix)
            }
            assert store.values(prefix) == expected, prefix

    def test_many_records_in_one_transaction(self, store: VectorStore) -> None:
        records = [record(str(n), n=n, tenth=n % 10) for n in range(3_000)]
        write(store, "c", records)
        assert store.get("c") == records
        some = [str(n) for n in range(0, 3_000, 2)]
        assert ids(store.get("c", ids=some)) == some
        with store.transaction() as transaction:
            assert transaction.delete(Selector.by_ids("c", some)) == 1_500
            assert transaction.delete(Selector.by_values("c", tenth=1)) == 300
        assert store.count(EVERYTHING) == 1_200
        assert len(store.get("c", where={"n": {"$lt": 1_500}})) == 600
