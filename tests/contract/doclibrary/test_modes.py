"""`mode` of the searches, an addition to the contract; hybrid is the default."""

import pytest

from tests.contract.doclibrary.asking import failed, find
from tests.contract.session import Session


def test_the_default_is_hybrid(session: Session) -> None:
    for query in ("Table 5", "damp and heating"):
        assert find(session, query) == find(session, query, mode="hybrid")
        assert all("match" in result for result in find(session, query))
        assert all("match" not in result for result in find(session, query, mode="semantic"))


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_a_label_is_found_by_its_words(session: Session, mode: str) -> None:
    found = find(session, "Table 5", mode=mode, element_type="table", document_slug="survey")
    assert found[0]["element_label"] == "Table 5"
    assert found[0]["match"]["words"] == ["table", "5"]
    assert {result["type"] for result in found} == {"table"}


def test_scores_are_similarities_in_every_mode(session: Session) -> None:
    scores = {one["score"] for one in find(session, "Table 5", mode="semantic", limit=50)}
    for mode in ("keyword", "hybrid"):
        found = find(session, "Table 5", mode=mode, limit=50)
        assert {one["score"] for one in found} <= scores


def test_merged_results_have_each_text_once(session: Session) -> None:
    plain = find(session, "damp and heating", limit=50)
    merged = find(session, "damp and heating", limit=50, merge=True)
    listed = [id_ for one in merged for id_ in one["merged"]["chunk_ids"]]
    left_out = [id_ for one in merged for id_ in one["merged"].get("same_text", [])]
    assert len(listed) == len(set(listed)) == len(merged)
    assert len(listed) + len(left_out) == len(plain)
    assert all("merged" not in one for one in plain)


def test_another_mode_is_refused(session: Session) -> None:
    message = failed(session, "search_documents", query="damp", mode="fuzzy")
    assert "'semantic', 'keyword' or 'hybrid'" in message
