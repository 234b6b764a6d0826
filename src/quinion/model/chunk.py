"""A chunk: a span of a document's text with the pages that it lies on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chunk:
    """`text` is exactly `document[start:end]`; `pages` are 1-based, ascending, never empty.

    `has_hidden` says that one of them has text that cannot be seen on it.
    """

    index: int
    text: str
    start: int
    end: int
    pages: tuple[int, ...]
    has_hidden: bool = False

    @property
    def word_count(self) -> int:
        return len(self.text.split())
