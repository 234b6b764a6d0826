"""Search mode: what a query is compared with."""

from enum import StrEnum


class Mode(StrEnum):
    """Compare meaning, words, or both."""

    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    HYBRID = "hybrid"
