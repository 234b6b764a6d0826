import random

from quinion.embed.local.embedder import form_batches


def some_lengths() -> list[int]:
    random.seed(7)
    return [random.randint(3, 256) for _ in range(200)]


def test_every_text_is_in_exactly_one_batch() -> None:
    batches = form_batches(some_lengths())
    assert sorted(index for batch in batches for index in batch) == list(range(200))


def test_no_batch_exceeds_the_budget_once_it_is_padded() -> None:
    lengths = some_lengths()
    for batch in form_batches(lengths, budget=1000):
        assert len(batch) * max(lengths[index] for index in batch) <= 1000


def test_a_text_over_the_budget_is_a_batch_by_itself() -> None:
    assert form_batches([900, 4, 800], budget=512) == [[0], [2], [1]]


def test_texts_of_like_length_share_a_batch() -> None:
    assert form_batches([10, 200, 12, 210], budget=420) == [[3, 1], [2, 0]]


def test_no_texts_make_no_batches() -> None:
    assert form_batches([]) == []
