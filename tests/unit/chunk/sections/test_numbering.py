import pytest

from quinion.chunk.sections.numbering import best_chain, follows


def chain(*numbers: int) -> list[int]:
    return [numbers[place] for place in best_chain([(number,) for number in numbers])]


def test_the_numbers_that_count_on_are_chosen() -> None:
    assert chain(1, 2, 3, 1, 2, 4, 1995, 5) == [1, 2, 3, 4, 5]


def test_a_missing_number_is_stepped_over() -> None:
    assert chain(1, 2, 3, 5, 6, 7) == [1, 2, 3, 5, 6, 7]


def test_a_number_far_ahead_needs_followers() -> None:
    assert chain(1, 2, 3, 40, 4, 5) == [1, 2, 3, 4, 5]
    assert chain(1, 2, 3, 40, 41, 42, 43) == [1, 2, 3, 40, 41, 42, 43]


def test_of_two_equal_numbers_the_heavier_is_chosen() -> None:
    numbers = [(1,), (1, 1), (2,), (2,), (2, 1)]
    assert best_chain(numbers, [1.5, 1, 1, 1.5, 1]) == [0, 1, 3, 4]


def test_no_numbers_make_no_chain() -> None:
    assert best_chain([]) == []


@pytest.mark.parametrize(
    ("earlier", "later"),
    [((5, 12), (5, 13)), ((5, 12), (6,)), ((5, 12), (6, 1)), ((5,), (5, 1)), ((5, 2, 9), (5, 3))],
)
def test_valid_successors_follow(earlier: tuple[int, ...], later: tuple[int, ...]) -> None:
    assert follows(earlier, later)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ((5, 12), (5, 14)),
        ((5, 12), (5, 12)),
        ((5, 12), (7, 1)),
        ((5, 12), (6, 2)),
        ((5, 2), (5, 1)),
    ],
)
def test_numbers_with_a_gap_do_not_follow(earlier: tuple[int, ...], later: tuple[int, ...]) -> None:
    assert not follows(earlier, later)
