"""Keyword index of a home that has none, or a damaged one; and its size."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from quinion.errors import StoreUnavailable
from quinion.lexical.tokens import ANALYSIS
from quinion.lexical.word_query import parse_query
from quinion.model.record import Hit, Record, score_of_distance
from quinion.store.base import Candidates, Selector, Vectors, VectorStore
from quinion.store.embedded.database import FILE
from quinion.store.embedded.keywords import builder
from quinion.store.embedded.store import EmbeddedStore
from quinion.store.factory import StorePlace, describe_builds, open_store

COUNT = 500
VECTOR = np.ones((1, 4), np.float32)
STAGES = {
    "no tables": "DROP TABLE keyword_postings; DROP TABLE keyword_lengths; "
    "DROP TABLE keyword_analysis; PRAGMA user_version = 3",
    "another analysis": "UPDATE keyword_analysis SET version = -1",
    "another layout": f"UPDATE keyword_analysis SET version = {ANALYSIS}",
}
"""What an earlier quinion, or one with another analysis, leaves."""


def by_words(candidates: Candidates) -> Vectors:
    return candidates.words


def search(store: VectorStore, words: str, limit: int = COUNT, nearest: int = 0) -> list[Hit]:
    query = parse_query(words)
    return store.search_words("c", query, VECTOR, limit, by_words, nearest=nearest)


def write(store: VectorStore, first: int, last: int) -> None:
    records = [Record(f"id {n}", f"number{n} of some", {"n": n}) for n in range(first, last)]
    with store.transaction() as transaction:
        transaction.upsert("c", records, np.ones((last - first, 4), np.float32), "")


def execute(folder: Path, script: str) -> None:
    with closing(sqlite3.connect(folder / FILE)) as database:
        database.executescript(script)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with closing(EmbeddedStore(tmp_path / "store")) as store:
        write(store, 0, COUNT)
    return tmp_path / "store"


def build(folder: Path) -> None:
    """Open the store as an engine does, and wait for the index."""
    place = StorePlace(folder.parent, folder, mirrored=False)
    with closing(open_store(place)) as store:
        assert isinstance(store, EmbeddedStore)
        if store.builder:
            store.builder.join()


@pytest.mark.parametrize("stage", STAGES)
def test_a_home_without_an_index_is_indexed_in_the_background(stage: str, folder: Path) -> None:
    execute(folder, STAGES[stage])
    build(folder)
    with closing(EmbeddedStore(folder)) as store:
        assert store.check("c").warnings == ()
        assert len(search(store, "some")) == COUNT
        assert [hit.record.id for hit in search(store, "number77")] == ["id 77"]
        assert store.check("c").problems == ()


def test_before_it_is_built_semantic_and_hybrid_answer_and_keyword_says_so(folder: Path) -> None:
    execute(folder, STAGES["no tables"])
    with closing(EmbeddedStore(folder)) as store:
        write(store, COUNT, COUNT + 10)
        [warning] = store.check("c").warnings
        assert warning == "c: the keyword index is being built: 10 of 510 records"
        assert len(store.search_vectors("c", VECTOR, 5)) == 5
        assert search(store, "number505", 5, nearest=5)[0].record.id == "id 505"
        with pytest.raises(StoreUnavailable, match="being built: 10 of 510 texts"):
            search(store, "number505")
        assert store.check("c").problems == ()


def test_another_process_sees_how_far_the_build_is(folder: Path) -> None:
    place = StorePlace(folder.parent, folder, mirrored=False)
    assert describe_builds(place) == []
    execute(folder, STAGES["another analysis"])
    with closing(EmbeddedStore(folder)) as store:
        write(store, COUNT, COUNT + 10)
        line = "c: the keyword index is being built: 10 of 510 records"
        assert describe_builds(place) == [line]
    build(folder)
    assert describe_builds(place) == []


def test_a_missing_store_has_no_build_and_a_damaged_one_is_an_error(tmp_path: Path) -> None:
    place = StorePlace(tmp_path, tmp_path / "store", mirrored=False)
    assert describe_builds(place) == []
    assert describe_builds(StorePlace(tmp_path, None, mirrored=False)) == []
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / FILE).write_text("no database " * 1_000)
    with pytest.raises(StoreUnavailable):
        describe_builds(place)


def test_changes_before_and_during_the_build_are_in_the_index(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(folder, STAGES["no tables"])
    monkeypatch.setattr(builder, "STEP", 7)
    with closing(EmbeddedStore(folder)) as store:
        store.complete_keywords()
        for n in range(0, COUNT, 10):
            write(store, n, n + 2)
            with store.transaction() as transaction:
                transaction.delete(Selector.by_ids("c", [f"id {n + 5}"]))
                selector = Selector.by_ids("c", [f"id {n + 7}"])
                transaction.update_metadata(selector, {"title": "changed"})
        assert store.builder
        store.builder.join()
        left = COUNT - COUNT // 10
        assert store.check("c").warnings == ()
        assert len(search(store, "some")) == left
        assert len(search(store, "changed")) == COUNT // 10
        assert store.check("c").problems == ()


def test_a_build_that_was_stopped_goes_on_at_the_next_start(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(folder, STAGES["no tables"])
    monkeypatch.setattr(builder, "STEP", 1)
    with closing(EmbeddedStore(folder)) as store:
        store.complete_keywords()
    with closing(EmbeddedStore(folder)) as store:
        assert store.check("c").warnings
        assert store.check("c").problems == ()
    build(folder)
    with closing(EmbeddedStore(folder)) as store:
        assert store.check("c").warnings == ()
        assert store.check("c").problems == ()


DAMAGES: dict[str, Callable[[Path], None]] = {
    "too short": lambda folder: execute(
        folder, "UPDATE keyword_postings SET postings = x'0000' WHERE term = 'some'"
    ),
    "of a slot too far": lambda folder: execute(
        folder, "UPDATE keyword_postings SET block = 99 WHERE term = 'some'"
    ),
    "lengths too short": lambda folder: execute(
        folder, "UPDATE keyword_lengths SET lengths = x'0000'"
    ),
    "lengths of others": lambda folder: execute(
        folder, "UPDATE keyword_lengths SET lengths = zeroblob(8190) || x'0101' || x'00'"
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_an_error_of_keyword_search_only(damage: str, folder: Path) -> None:
    DAMAGES[damage](folder)
    with closing(EmbeddedStore(folder)) as store:
        assert len(store.search_vectors("c", VECTOR, 5)) == 5
        for nearest in (0, 5):
            with pytest.raises(StoreUnavailable, match="quinion verify --repair"):
                search(store, "some", nearest=nearest)
        assert store.check("c").problems == ("c: the keyword index does not match the records",)
        assert store.check("c", repair=True).repaired
        assert len(search(store, "some")) == COUNT


def test_hits_by_vector_are_exactly_those_of_the_vectors_whatever_the_index(folder: Path) -> None:
    dice = np.random.default_rng(3)
    vectors = dice.normal(size=(COUNT + 1, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors, query = vectors[:-1], vectors[-1]
    records = [Record(f"id {n}", f"text {n}", {}) for n in range(COUNT)]
    distances = np.maximum(2.0 - 2.0 * np.vecdot(vectors, query), 0.0)
    order = np.argsort(distances, kind="stable")[:20].tolist()
    expected = [Hit(records[n], score_of_distance(float(distances[n]))) for n in order]
    with closing(EmbeddedStore(folder)) as store:
        with store.transaction() as transaction:
            transaction.upsert("d", records, vectors, "")
        assert store.search_vectors("d", query, 20) == expected
    execute(folder, STAGES["no tables"])
    with closing(EmbeddedStore(folder)) as store:
        assert store.search_vectors("d", query, 20) == expected
    execute(
        folder, "UPDATE keyword_analysis SET version = -1; UPDATE keyword_lengths SET block = 7"
    )
    with closing(EmbeddedStore(folder)) as store:
        assert store.search_vectors("d", query, 20) == expected


def test_equal_scores_keep_their_order_after_a_restart_and_a_rebuild(folder: Path) -> None:
    with closing(EmbeddedStore(folder)) as store:
        write(store, 100, 120)  # in other slots than before
        orders = [
            [hit.record.id for hit in search(store, "some", limit, nearest)]
            for limit, nearest in ((COUNT, 0), (COUNT, 10), (20, 0))
        ]
    assert len(orders[0]) == COUNT
    assert orders[2] == orders[0][:20]
    execute(folder, STAGES["another analysis"])
    build(folder)
    with closing(EmbeddedStore(folder)) as store:
        assert orders == [
            [hit.record.id for hit in search(store, "some", limit, nearest)]
            for limit, nearest in ((COUNT, 0), (COUNT, 10), (20, 0))
        ]


def test_a_long_text_and_a_repeated_word_are_indexed(tmp_path: Path) -> None:
    with closing(EmbeddedStore(tmp_path / "store")) as store:
        with store.transaction() as transaction:
            record = Record("a", "flood " * 70_000 + "end", {})
            transaction.upsert("c", [record], VECTOR, "")
        assert [hit.record.id for hit in search(store, "end")] == ["a"]
        assert store.check("c").problems == ()
        with store.transaction() as transaction:
            transaction.delete(Selector.by_ids("c", ["a"]))
        assert store.check("c").problems == ()
