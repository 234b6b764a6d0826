"""Search by words, compared with a search over plain lists."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from quinion.lexical.word_query import parse_query
from quinion.model.record import Hit, Record
from quinion.store.base import Candidates, Selector, Vectors, VectorStore
from quinion.store.filters import Where
from tests.store_conformance import dictionary_words
from tests.store_conformance.adapter import Adapter, hit_ids, record, vector_of, write

SUBJECTS = ("housing", "flood risk", "parking", "heritage", "biodiversity")
ALL = 1_000


def by_words(candidates: Candidates) -> Vectors:
    return candidates.words


def by_both(candidates: Candidates) -> Vectors:
    return candidates.words + 10 * (candidates.cosines - candidates.mean_cosine)


def search(
    store: VectorStore,
    query: str,
    limit: int = ALL,
    where: Where | None = None,
    *,
    nearest: int = 0,
    collection: str = "c",
) -> list[Hit]:
    return store.search_words(
        collection,
        parse_query(query),
        vector_of(query),
        limit,
        by_both if nearest else by_words,
        nearest=nearest,
        where=where,
    )


def find(store: VectorStore, query: str, *, nearest: int = 0, collection: str = "c") -> list[str]:
    return hit_ids(search(store, query, nearest=nearest, collection=collection))


def check_words(
    store: VectorStore, query: str, where: Where | None = None, *, nearest: int = 0
) -> list[Hit]:
    """Assert that all hits equal those of a search over the store's records."""
    records, vectors = store.get_with_vectors(Selector.everything("c"))
    compare = partial(dictionary_words.search, records, vectors, parse_query(query))
    rank = by_both if nearest else by_words
    expected = compare(vector_of(query), ALL, rank, nearest, where or {})
    found = search(store, query, ALL, where, nearest=nearest)
    check_same(found, expected)
    return found


def check_same(found: Sequence[Hit], expected: Sequence[Hit]) -> None:
    theirs = {hit.record.id: hit for hit in expected}
    assert sorted(hit_ids(found)) == sorted(theirs)
    for hit in found:
        one = theirs[hit.record.id]
        assert hit.match is not None
        assert one.match is not None
        assert hit.record == one.record
        assert hit.score == pytest.approx(one.score, abs=1e-5)
        assert hit.match.words == one.match.words
        assert hit.match.score == pytest.approx(one.match.score, rel=1e-3, abs=1e-5)
    scores = [hit.match.score for hit in found if hit.match]
    assert scores == sorted(scores, reverse=True)


def some_records(count: int = 150) -> list[Record]:
    dice = np.random.default_rng(4)
    return [
        Record(
            f"id {n}",
            " ".join(dice.choice([*SUBJECTS, "policy", "the", f"H{n}"], 1 + n % 40)),
            {"half": n % 2, "title": f"Plan {n // 50}", "long": "x" * 300 + str(n % 3)},
        )
        for n in range(count)
    ]


class WordConformance(Adapter):
    @pytest.mark.parametrize(
        "where",
        [
            None,
            {"half": 1},
            {"half": 7},
            {"half": {"$ne": 1}},
            {"long": {"$contains": "x2"}},
            {"long": {"$ne": "x" * 300 + "1"}},
        ],
        ids=lambda where: str(where)[:30],
    )
    @pytest.mark.parametrize("nearest", [0, 5, ALL])
    def test_hits_and_scores_are_those_of_bm25(
        self, store: VectorStore, where: Where | None, nearest: int
    ) -> None:
        write(store, "c", some_records())
        for query in ("housing policy", "H7", "flood risks in plan 2", "the", "nothing"):
            found = check_words(store, query, where, nearest=nearest)
            for limit in (1, 3, 20):
                if nearest in (0, ALL):
                    some = search(store, query, limit, where, nearest=nearest)
                    assert hit_ids(some) == hit_ids(found)[:limit]

    def test_hits_follow_all_changes(self, store: VectorStore) -> None:
        write(store, "c", some_records())
        write(store, "c", [record(f"id {n}", "a new text on parking") for n in range(0, 100, 3)])
        with store.transaction() as transaction:
            transaction.delete(Selector.by_values("c", half=1))
        write(store, "c", some_records(20))
        for query in ("parking", "housing", "new", "H19", "H21", "plan 1"):
            check_words(store, query)
            check_words(store, query, nearest=ALL)

    def test_what_a_text_stands_under_finds_it_and_may_change(self, store: VectorStore) -> None:
        metadata = {"source_file": "/srv/files/Transport_Statement.pdf", "section_path": "1\nRoads"}
        write(store, "c", [record("a", "as follows", **metadata), record("b", "as follows")])
        assert find(store, "transport statement") == find(store, "roads") == ["a"]
        assert find(store, "srv") == []
        with store.transaction() as transaction:
            selector = Selector.by_ids("c", ["a", "b"])
            transaction.update_metadata(selector, {"source_file": "Design.pdf", "other": 1})
        assert find(store, "transport") == []
        assert sorted(find(store, "design")) == ["a", "b"]
        check_words(store, "design")

    def test_a_dropped_collection_leaves_no_words(self, store: VectorStore) -> None:
        write(store, "c", [record("a", "flood risk")])
        with store.transaction() as transaction:
            transaction.delete(Selector.everything("c"))
        assert find(store, "flood") == []
        write(store, "c", [record("b", "housing")])
        assert find(store, "flood") == []
        assert find(store, "housing") == ["b"]

    def test_a_rolled_back_transaction_leaves_no_words(self, store: VectorStore) -> None:
        write(store, "c", [record("a", "flood risk")])
        with pytest.raises(KeyError), store.transaction() as transaction:
            changed = [record("a", "housing"), record("b", "parking")]
            transaction.upsert("c", changed, np.ones((2, 8), np.float32), "")
            raise KeyError
        assert find(store, "housing") == find(store, "parking") == []
        assert find(store, "flood") == ["a"]

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("PINS/Y1945/429/7", ["reference", "part"]),
            ("y1945", ["reference"]),
            ("H4", ["policy"]),
            ("Policy H4", ["policy", "other"]),
            ("2.4m", ["number"]),
            ("1200", ["number"]),
            ("café", ["accent"]),
            ("CAFES", ["accent"]),
            ("snake case", ["code"]),
            ("snake_case", ["code"]),
            ("E4217", ["code"]),
            ('"fence of 2.4m"', ["number"]),
            ('"of fence"', []),
            ('"policy" "h4"', ["policy"]),
        ],
    )
    def test_references_codes_and_phrases_are_found(
        self, store: VectorStore, query: str, found: list[str]
    ) -> None:
        texts = {
            "reference": "Appeal PINS/Y1945/429/7 was dismissed.",
            "part": "Sheet 7 of 429",
            "policy": "See policy H4.",
            "other": "See policy H5.",
            "number": "A fence of 2.4m for 1,200 homes",
            "accent": "A Café in the park",
            "code": "snake_case raises E4217",
        }
        write(store, "c", [record(id_, text) for id_, text in texts.items()])
        assert find(store, query) == found

    @pytest.mark.parametrize("query", ["Blenkinsopp", "Blenkinsp", "Blenknisop", "Blenk"])
    def test_a_typo_or_the_beginning_of_a_rare_word_is_found(
        self, store: VectorStore, query: str
    ) -> None:
        write(store, "c", [record("a", "a letter of Mrs Blenkinsop"), record("b", "a letter")])
        assert find(store, query) == ["a"]
        [hit] = search(store, f"{query} xyzzy")
        assert hit.match is not None
        assert hit.match.words == (query.casefold(),)

    def test_a_word_that_is_found_has_no_fallback(self, store: VectorStore) -> None:
        write(store, "c", [record("a", "form"), record("b", "from"), record("c", "formal")])
        assert find(store, "form") == ["a"]

    @pytest.mark.parametrize(
        "query",
        ["", "?!", "\0", "\ud800", "\ud800abc", "* AND NEAR(", '"', '""', "图纸", "xyzzy" * 4_000],
    )
    def test_queries_without_any_known_word_find_nothing(
        self, store: VectorStore, query: str
    ) -> None:
        write(store, "c", [record("a", "flood risk"), record("b", "housing")])
        assert find(store, query) == []
        assert sorted(find(store, query, nearest=5)) == ["a", "b"]

    @pytest.mark.parametrize(
        "query", ["the", "flood AND risk", "text:flood", "flood*", "NEAR flood"]
    )
    def test_operators_and_stop_words_are_words(self, store: VectorStore, query: str) -> None:
        write(store, "c", [record("a", "the flood risk"), record("b", "housing")])
        assert find(store, query) == ["a"]

    def test_a_word_of_every_record_and_a_single_record(self, store: VectorStore) -> None:
        write(store, "c", [record("a", "flood")])
        assert find(store, "flood") == find(store, "flood", nearest=5) == ["a"]
        write(store, "c", [record(f"id {n}", "flood") for n in range(50)])
        assert len(find(store, "flood")) == 51
        check_words(store, "flood", nearest=ALL)

    def test_a_phrase_that_no_record_has_is_ignored_beside_a_search_by_vector(
        self, store: VectorStore
    ) -> None:
        write(store, "c", [record("a", "flood risk"), record("b", "risk of flood")])
        assert find(store, '"flood risk"', nearest=5) == ["a"]
        assert sorted(find(store, '"flood of risk"', nearest=5)) == ["a", "b"]
        assert find(store, '"flood of risk"') == []

    def test_records_with_equal_scores_keep_their_order(self, store: VectorStore) -> None:
        write(store, "c", [record(str(n), "the same text") for n in range(50)])
        order = find(store, "same text")
        assert len(order) == 50
        for limit in (1, 10, 49):
            assert hit_ids(search(store, "same text", limit)) == order[:limit]
            assert hit_ids(search(store, "same text", limit, nearest=100)) == order[:limit]

    def test_a_sparse_filter_changes_no_score(self, store: VectorStore) -> None:
        records = some_records(400)
        write(store, "c", [replace(one, metadata={"few": n % 50}) for n, one in enumerate(records)])
        for query in ("housing policy", "H53 parking", "the flood"):
            every = {hit.record.id: hit.match for hit in check_words(store, query)}
            some = check_words(store, query, {"few": 3})
            assert some
            assert all(hit.match == every[hit.record.id] for hit in some)

    def test_a_missing_collection_has_no_words(self, store: VectorStore) -> None:
        assert find(store, "flood", collection="d") == []
