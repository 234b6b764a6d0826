"""Completion of names: candidates and their order."""

from hypothesis import given
from hypothesis import strategies as st

from quinion.servers.completions import MAX_COMPLETIONS, match

NAMES = st.lists(st.text("aAbBß /", max_size=4), max_size=150)
BEGUN = st.text("aAbBß", max_size=2)


def test_prefix_matches_come_before_substring_matches() -> None:
    names = ["site_plan", "planning_statement", "letter", "floor_plan", "Planting"]
    completion = match(names, "plan")
    assert completion.values == ["planning_statement", "Planting", "site_plan", "floor_plan"]
    assert (completion.total, completion.has_more) == (4, False)


def test_nothing_begun_is_everything_in_its_own_order() -> None:
    assert match(["b", "a", "b", "c"], "").values == ["b", "a", "c"]


def test_no_more_are_given_than_the_protocol_allows_and_all_are_counted() -> None:
    completion = match(map(str, range(1000)), "")
    assert completion.values == [str(number) for number in range(MAX_COMPLETIONS)]
    assert (completion.total, completion.has_more) == (1000, True)
    exact = match(map(str, range(MAX_COMPLETIONS)), "")
    assert (exact.total, exact.has_more) == (MAX_COMPLETIONS, False)


@given(NAMES, BEGUN)
def test_every_name_that_has_it_is_there_once_and_no_other(names: list[str], begun: str) -> None:
    completion = match(names, begun)
    expected = {name for name in names if begun.casefold() in name.casefold()}
    assert completion.total == len(expected)
    assert len(completion.values) == min(len(expected), MAX_COMPLETIONS)
    assert len(set(completion.values)) == len(completion.values)
    assert set(completion.values) <= expected


@given(NAMES, BEGUN)
def test_the_order_is_kept_within_both_groups(names: list[str], begun: str) -> None:
    values = match(names, begun).values
    begins = [name.casefold().startswith(begun.casefold()) for name in values]
    assert begins == sorted(begins, reverse=True)
    for group in (True, False):
        places = [
            names.index(v) for v, begun_so in zip(values, begins, strict=True) if begun_so == group
        ]
        assert places == sorted(places)
