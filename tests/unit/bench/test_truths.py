import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.truths import edit_distance, word_accuracy, words_found, words_right

TEXTS = st.lists(st.sampled_from(["The", "gate", "of", "yard", "1909"]), min_size=1)


@given(TEXTS, TEXTS)
def test_a_distance_is_symmetric_and_at_most_the_longer_text(
    one: list[str], other: list[str]
) -> None:
    distance = edit_distance(one, other)
    assert distance == edit_distance(other, one)
    assert abs(len(one) - len(other)) <= distance <= max(len(one), len(other))
    assert (distance == 0) is (one == other)


def test_words_out_of_order_are_found_though_not_accurate() -> None:
    assert word_accuracy("gate The", "The gate") == 0.0
    assert words_found("gate The", "The gate") == 1.0


@pytest.mark.parametrize(
    ("text", "truth"),
    [("over-\nlooked", "overlooked"), ("“so”", '"so"'), ("Total 9", "TOTAL 9")],
)
def test_differences_between_editions_are_not_errors(text: str, truth: str) -> None:
    assert word_accuracy(text, truth) == 1.0


def test_case_counts_where_the_truth_has_both() -> None:
    assert word_accuracy("the gate", "The gate") == 0.5


def test_precision_is_the_share_of_the_words_read_that_are_true() -> None:
    assert words_right("gate The door door", "The gate") == 0.5
    assert words_right("", "The gate") == 0.0
