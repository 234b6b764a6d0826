from hypothesis import given
from hypothesis import strategies as st

from quinion.model.record import Hit, Record
from quinion.search.budget import select


def hits(count: int) -> list[Hit]:
    return [Hit(Record(str(i), "", {}), 1 - i / 100) for i in range(count)]


def test_one_that_does_not_fit_is_passed_over_for_smaller_ones() -> None:
    selection = select(hits(4), [50, 60, 40, 10], 100)
    assert [hit.record.id for hit in selection.hits] == ["0", "2", "3"]
    assert selection.tokens == 100


def test_nothing_fits() -> None:
    assert select(hits(2), [5, 6], 4).hits == ()


@given(st.lists(st.integers(1, 50), max_size=30), st.integers(1, 200))
def test_the_best_come_first_and_none_that_would_still_fit_is_missing(
    sizes: list[int], budget: int
) -> None:
    found = hits(len(sizes))
    selection = select(found, sizes, budget)
    assert selection.tokens <= budget
    chosen = [int(hit.record.id) for hit in selection.hits]
    assert chosen == sorted(chosen)
    assert selection.tokens == sum(sizes[i] for i in chosen)
    for left_out in set(range(len(sizes))) - set(chosen):
        before = sum(sizes[i] for i in chosen if i < left_out)
        assert before + sizes[left_out] > budget
