"""What goes to a model that is not ours, and what comes back: texts in batches, vectors checked.

A wrong vector is worse than none: it is stored, and spoils searches without an error. So what a
server or a library answers is taken only if it can be what was asked for.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from quinion.embed.base import Vectors
from quinion.errors import ModelUnavailable

MAX_TEXTS = 32
"""In one batch. Some servers take no more, and a query waits for one batch at most."""

MAX_CHARACTERS = 32_000
"""In one batch: some eight thousand tokens."""


def check_texts(texts: Sequence[str]) -> None:
    """Refuse blank texts, which have no meaning to find.

    Raises:
        ValueError: a text is empty or only white space.
    """
    for index, text in enumerate(texts):
        if not text.strip():
            raise ValueError(f"text {index} of {len(texts)} is empty or only white space")


def split_batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in batches, in order. One that is longer than a batch is a batch by itself."""
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
    """The rows that `source` gave for `count` texts, one at least, at unit length.

    Raises:
        ModelUnavailable: they cannot be the vectors of these texts.
    """
    if len(rows) != count:
        raise ModelUnavailable(_bad_answer(source, f"{len(rows)} vectors for {count} texts"))
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise ModelUnavailable(_bad_answer(source, "vectors of different lengths"))
    try:
        vectors = np.fromiter(chain.from_iterable(rows), np.float64).reshape(count, *lengths)
    except (TypeError, ValueError):
        raise ModelUnavailable(_bad_answer(source, "something else than vectors")) from None
    if not np.isfinite(vectors).all():
        raise ModelUnavailable(_bad_answer(source, "vectors with numbers that are not finite"))
    if not vectors.any(axis=1).all():
        raise ModelUnavailable(_bad_answer(source, "vectors of zeros alone"))
    # By the largest first, so that no square is too large or too small for a float.
    vectors /= np.abs(vectors).max(axis=1, keepdims=True)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32)


def _bad_answer(source: str, what: str) -> str:
    return (
        f"{source} answered with {what}. Check that its model is one for embeddings, and that "
        "it works."
    )
