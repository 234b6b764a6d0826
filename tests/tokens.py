"""Token counters for the tests of chunking."""

import re
from functools import cache

from quinion.chunk.token_offsets import Measure
from quinion.embed.token_counter import TokenCounter

_TOKEN = re.compile(r"\w+|[^\w\s]")


def by_words(text: str) -> list[int]:
    """Count words and punctuation marks: predictable and fast."""
    return [match.start() for match in _TOKEN.finditer(text)]


@cache
def by_model() -> Measure:
    """Count the tokens of the embedding model."""
    return TokenCounter.of().starts
