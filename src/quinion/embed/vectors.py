"""Batches for external models, and validation of their vectors.

A wrong vector is worse than none: it is stored and degrades searches without an error. So the
answer of a server or library is accepted only if it is plausible.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from quinion.embed.base import Vectors
from quinion.errors import ModelUnavailable

MAX_TEXTS = 32
"""Texts per batch. Some servers accept no more, and a query waits for one batch at most."""

MAX_CHARACTERS = 32_000
"""Characters per batch: some eight thousand tokens."""


def check_texts(texts: Sequence[str]) -> None:
    """Reject blank texts, which have no meaning to embed.

    Raises:
        ValueError: a text is empty or only white space.
    """
    for index, text in enumerate(texts):
        if not text.strip():
            raise ValueError(f"text {index} of {len(texts)} is empty or only white space")


def split_batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Split texts into batches, in order. A text longer than a batch gets its own."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        if batch and (len(batch) == MAX_TEXTS or characters + len(text) > MAX_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch


def normalize_rows(rows: Sequence[Sequence[float]], count: int, source: str) -> Vectors:
    """Check and normalize the rows that `source` returned for `count` texts (at least one).

    Raises:
        ModelUnavailable: the rows cannot be the vectors of these texts.
    """
    if len(rows) != count:
        raise ModelUnavailable(_bad_answer(source, f"{len(rows)} vectors for {count} texts"))
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise ModelUnavailable(_bad_answer(source, "vectors of different lengths"))
    try:
        vectors = np.fromiter(chain.from_iterable(rows), np.float64).reshape(count, *lengths)
    except (TypeError, ValueError):
        raise ModelUnavailable(_bad_answer(source, "something other than vectors")) from None
    if not np.isfinite(vectors).all():
        raise ModelUnavailable(_bad_answer(source, "vectors with numbers that are not finite"))
    if not vectors.any(axis=1).all():
        raise ModelUnavailable(_bad_answer(source, "all-zero vectors"))
    # Scale by the maximum first, so that no square overflows or underflows.
    vectors /= np.abs(vectors).max(axis=1, keepdims=True)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32)


def _bad_answer(source: str, what: str) -> str:
    return f"{source} answered with {what}. Check that its model is an embedding model and works."
