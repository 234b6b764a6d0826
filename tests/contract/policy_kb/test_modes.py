"""`mode` of `search_policy`: an addition to the contract."""

from functools import partial

import pytest

from tests.contract.policy_kb.asking import RESULT_FIELDS, find, refusal
from tests.contract.search_modes import check_modes
from tests.contract.session import Session


@pytest.mark.parametrize(
    ("query", "ref"), [("paragraph 104", "Para 104"), ("Table 5-2", "Table 5-2")]
)
def test_a_reference_comes_first_in_the_modes_keyword_and_hybrid(
    library: Session, query: str, ref: str
) -> None:
    check_modes(
        partial(find, library, n_results=50),
        query,
        lambda result: result["section_ref"] == ref,
        "relevance_score",
    )


def test_filters_apply_in_every_mode(library: Session) -> None:
    for mode in ("keyword", "hybrid"):
        found = find(library, "cycle track", sources=["NPPF"], mode=mode)
        assert {result["source"] for result in found} <= {"NPPF"}
        dated = find(library, "cycle", effective_date="2024-03-15", mode=mode)
        assert dated
        assert "rev_NPPF_2024_12" not in {result["revision_id"] for result in dated}
        assert find(library, "cycle", effective_date="1900-01-01", mode=mode) == []


def test_more_queries_are_answered_in_the_same_mode(library: Session) -> None:
    answer = library.call(
        "search_policy", query="cycle", more_queries=["paragraph 104"], mode="keyword"
    )
    [more] = answer["more"]
    for result in (*answer["results"], *more["results"]):
        assert set(result) == {*RESULT_FIELDS, "match", "evidence"}


def test_merged_results_join_headings_and_keep_texts_that_differ_by_a_word(
    library: Session,
) -> None:
    plain = find(library, "cycle lanes", n_results=50)
    merged = find(library, "cycle lanes", n_results=50, merge=True)
    assert merged[0]["chunk_id"] == plain[0]["chunk_id"]
    assert {"rev_NPPF_2023_09", "rev_NPPF_2024_12"} <= {one["revision_id"] for one in merged}
    assert all(one["merged"]["page_numbers"] for one in merged)
    for one in plain:
        assert any(one["text"] in other["text"] for other in merged)
    joined = [one for one in merged if len(one["merged"]["chunk_ids"]) > 1]
    texts = {one["chunk_id"]: one["text"] for one in plain}
    assert joined
    for one in joined:
        lines = one["text"].splitlines()
        assert len(lines) == len(set(lines))
        for id_ in one["merged"]["chunk_ids"]:
            assert texts.get(id_, "") in one["text"]


def test_another_mode_is_refused(library: Session) -> None:
    answer = library.call("search_policy", query="cycle", mode="fuzzy")
    assert "'semantic', 'keyword' or 'hybrid'" in refusal(answer, "invalid_input")
