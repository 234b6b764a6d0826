import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quinion.embed.vectors import (
    MAX_CHARACTERS,
    MAX_TEXTS,
    check_texts,
    normalize_rows,
    split_batches,
)
from quinion.errors import ModelUnavailable

lengths = st.lists(st.integers(1, 2 * MAX_CHARACTERS), max_size=100)
numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(lengths)
def test_batches_keep_the_order_and_the_size_limit(sizes: list[int]) -> None:
    texts = [chr(ord("a") + i % 26) * size for i, size in enumerate(sizes)]
    batches = list(split_batches(texts))
    assert [text for batch in batches for text in batch] == texts
    for batch in batches:
        assert 1 <= len(batch) <= MAX_TEXTS
        assert len(batch) == 1 or sum(map(len, batch)) <= MAX_CHARACTERS


@given(lengths)
def test_no_batch_could_have_taken_the_first_text_of_the_next(sizes: list[int]) -> None:
    batches = list(split_batches(["x" * size for size in sizes]))
    for batch, following in pairwise(batches):
        characters = sum(map(len, batch)) + len(following[0])
        assert len(batch) == MAX_TEXTS or characters > MAX_CHARACTERS


@given(
    st.integers(1, 8).flatmap(
        lambda size: st.lists(
            st.lists(numbers, min_size=size, max_size=size).filter(any), min_size=1, max_size=5
        )
    )
)
def test_rows_keep_their_direction_and_get_unit_length(rows: list[list[float]]) -> None:
    vectors = normalize_rows(rows, len(rows), "it")
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    for vector, row in zip(vectors, rows, strict=True):
        largest = max(range(len(row)), key=lambda i: abs(row[i]))
        assert math.copysign(1, vector[largest]) == math.copysign(1, row[largest])
        scaled = [number / abs(row[largest]) for number in row]
        np.testing.assert_allclose(vector / abs(vector[largest]), scaled, atol=1e-5)


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([[1.0, 2.0]], "1 vectors for 2 texts"),
        ([[1.0, 2.0]] * 3, "3 vectors for 2 texts"),
        ([[1.0, 2.0], [1.0]], "vectors of different lengths"),
        ([[1.0, 2.0], [1.0, math.nan]], "vectors with numbers that are not finite"),
        ([[1.0, 2.0], [math.inf, 1.0]], "vectors with numbers that are not finite"),
        ([[1.0, 2.0], [0.0, 0.0]], "all-zero vectors"),
        ([[], []], "all-zero vectors"),
        ([[[1.0], [2.0]], [[1.0], [2.0]]], "something other than vectors"),
    ],
)
def test_invalid_vectors_are_refused(rows: list[list[float]], what: str) -> None:
    with pytest.raises(ModelUnavailable, match=f"^It answered with {what}"):
        normalize_rows(rows, 2, "It")


@pytest.mark.parametrize("blank", ["", " ", "\n\t\u00a0"])
def test_a_blank_text_is_refused(blank: str) -> None:
    with pytest.raises(ValueError, match="text 1 of 2 is empty or only white space"):
        check_texts(["something", blank])
