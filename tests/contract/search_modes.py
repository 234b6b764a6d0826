"""What every contract's search answers in the three modes: shared by the contract tests."""

from collections.abc import Callable

from tests.contract.session import Answer

Find = Callable[..., list[Answer]]
"""Searches with a query and other arguments; returns the results."""


def check_modes(find: Find, query: str, is_right: Callable[[Answer], bool], score: str) -> None:
    """Assert that an exact term is found by words, and that `mode` changes nothing else."""
    default = find(query)
    semantic = find(query, mode="semantic")
    keyword, hybrid = find(query, mode="keyword"), find(query, mode="hybrid")
    assert default == semantic
    assert all("match" not in result for result in semantic)
    assert is_right(keyword[0])
    assert is_right(hybrid[0])
    scores = {str(drop_match(result)): result[score] for result in semantic}
    for results in (keyword, hybrid):
        ranks = [result["match"]["score"] for result in results]
        assert ranks == sorted(ranks, reverse=True)
        assert results[0]["match"]["words"]
        for result in results:
            assert set(result["match"]) == {"score", "words"}
            assert scores.get(str(drop_match(result)), result[score]) == result[score]
    assert all(result["match"]["words"] for result in keyword)
    if not query.startswith('"'):
        assert len(hybrid) == len(semantic)


def drop_match(result: Answer) -> Answer:
    return {key: value for key, value in result.items() if key != "match"}
