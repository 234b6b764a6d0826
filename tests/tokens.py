"""Ways to measure a text for the tests of chunks."""

import re
from functools import cache

from quinion.chunk.token_offsets import Measure
from quinion.embed.token_counter import TokenCounter

_TOKEN = re.compile(r"\w+|[^\w\s]")


def by_words(text: str) -> list[int]:
    """Words and punctuation marks: easy to reckon with, and quick."""
    return [match.start() for match in _TOKEN.finditer(text)]


@cache
def by_model() -> Measure:
    """The embedding model's own tokens."""
    return TokenCounter.of().starts
