"""Search in the three modes, over a store in memory."""

from collections.abc import Iterator
from contextlib import closing

import anyio
import numpy as np
import pytest

from quinion.errors import BadSetting, InvalidInput
from quinion.model.record import Hit, Mode, Record
from quinion.search import modes
from quinion.search.merge import Merging
from quinion.store.base import Vectors, VectorStore
from quinion.store.collections import Collections
from quinion.store.embedded.store import EmbeddedStore

TEXTS = {
    "flood": "Water may reach the cellars in winter.",
    "code": "The report has the reference PINS/Y1945/429/7.",
    "other": "A note on gardens.",
    "garden": "Gardens are watered in summer.",
}
VECTORS = np.eye(4, dtype=np.float32)


class Meaning:
    """Embedder in whose opinion every query is about floods, and a little about the rest."""

    fingerprint = "model"
    dimensions = 4

    def embed_query(self, text: str) -> Vectors:
        vector = np.array([1.0, 0.1, 0.3, 0.2], np.float32)
        return np.asarray(vector / np.linalg.norm(vector), np.float32)

    def embed(self, texts: object) -> Vectors:
        raise NotImplementedError

    def count_tokens(self, texts: object) -> list[int]:
        raise NotImplementedError

    def load(self) -> None:
        pass


@pytest.fixture
def store() -> Iterator[VectorStore]:
    with closing(EmbeddedStore(None)) as store:
        with store.transaction() as transaction:
            records = [Record(id_, text, {"id": id_}) for id_, text in TEXTS.items()]
            transaction.upsert("c", records, VECTORS, "model")
        yield store


def search(
    store: VectorStore,
    query: str,
    mode: Mode,
    limit: int = 10,
    made_with: str = "model",
    merging: Merging | None = None,
) -> list[Hit]:
    collections = Collections(store, lambda: made_with)
    embedder = Meaning()
    found = anyio.run(
        lambda: modes.search(collections, embedder, "c", query, limit, None, mode, merging)
    )
    return found.hits


def ids(hits: list[Hit]) -> list[str]:
    return [hit.record.id for hit in hits]


def test_semantic_hits_are_those_of_the_store_and_have_no_match(store: VectorStore) -> None:
    hits = search(store, "Y1945", Mode.SEMANTIC)
    assert hits == store.search_vectors("c", Meaning().embed_query(""), 10)
    assert ids(hits) == ["flood", "other", "garden", "code"]
    assert all(hit.match is None for hit in hits)


def test_keyword_hits_contain_the_words_and_keep_the_score_of_their_meaning(
    store: VectorStore,
) -> None:
    [hit] = search(store, "what about Y1945?", Mode.KEYWORD)
    assert hit.record.id == "code"
    assert hit.match is not None
    assert hit.match.words == ("y1945",)
    semantic = {one.record.id: one.score for one in search(store, "x", Mode.SEMANTIC)}
    assert hit.score == semantic["code"]


def test_hybrid_hits_are_all_hits_with_those_that_have_the_words_first(store: VectorStore) -> None:
    hits = search(store, "PINS/Y1945/429/7", Mode.HYBRID)
    assert ids(hits) == ["code", "flood", "other", "garden"]
    assert {hit.record.id: hit.score for hit in hits} == {
        hit.record.id: hit.score for hit in search(store, "x", Mode.SEMANTIC)
    }
    matches = [hit.match for hit in hits]
    assert all(matches)
    assert [match.words for match in matches if match] == [("pins/y1945/429/7",), (), (), ()]
    assert ids(search(store, "PINS/Y1945/429/7", Mode.HYBRID, 1)) == ["code"]


@pytest.mark.parametrize("query", ["the", "?!", "图", "\0", "AND NEAR * :"])
def test_without_a_known_word_hybrid_hits_have_the_order_of_their_meaning(
    store: VectorStore, query: str
) -> None:
    if query != "the":
        assert ids(search(store, query, Mode.HYBRID)) == ["flood", "other", "garden", "code"]
        assert search(store, query, Mode.KEYWORD) == []
    assert len(search(store, query, Mode.HYBRID)) == 4


def test_merged_hits_are_as_many_as_asked_and_headings_have_the_text_below() -> None:
    texts = ["Gardens", "Gardens are watered in summer.", *["A note on gardens."] * 30]
    texts += [f"Note {n} on gardens." for n in range(3)]
    records = [
        Record(f"{n}", text, {"file": "a" if n < 2 else f"{n}", "chunk_index": n})
        for n, text in enumerate(texts)
    ]
    vectors = np.tile(VECTORS[1], (len(texts), 1))
    vectors[0] = VECTORS[0]
    how = Merging(document=("file",))
    with closing(EmbeddedStore(None)) as store:
        with store.transaction() as transaction:
            transaction.upsert("c", records, vectors, "model")
        for mode in Mode:
            [hit] = search(store, "gardens", mode, 1, merging=how)
            assert hit.record.text == "Gardens\nGardens are watered in summer."
            found = search(store, "gardens", mode, 5, merging=how)
            assert len({one.record.text for one in found}) == 5
            left_out = [id_ for one in found if one.merged for id_ in one.merged.same_text]
            assert len(left_out) == 29


@pytest.mark.parametrize("mode", Mode)
def test_an_empty_query_is_rejected_in_every_mode(store: VectorStore, mode: Mode) -> None:
    with pytest.raises(InvalidInput, match="empty"):
        search(store, "  ", mode)


@pytest.mark.parametrize("mode", Mode)
def test_a_collection_of_another_model_is_rejected_in_every_mode(
    store: VectorStore, mode: Mode
) -> None:
    with pytest.raises(BadSetting, match="another"):
        search(store, "garden", mode, made_with="another")
