"""Chunks: spans of a text that are embedded and cited on their own.

`Chunk` is a span of a paged document, `FileChunk` of a file in a folder.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quinion.model.page import PageSpan, join_spans, without_spaces


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of a document: `text` is exactly `document[start:end]`.

    `pages` are 1-based, ascending and never empty. `page_breaks` are the offsets in `text` at which
    the pages after the first one start, and `page_start` is the offset of its start in the text of
    the first page. `has_hidden` is set if one of the pages has invisible text.
    """

    index: int
    text: str
    start: int
    end: int
    pages: tuple[int, ...]
    page_breaks: tuple[int, ...] = ()
    has_hidden: bool = False
    page_start: int = 0

    @property
    def word_count(self) -> int:
        return len(self.text.split())

    def page_spans(self, document: str) -> tuple[PageSpan, ...]:
        """Return the parts of the pages that the chunk consists of, given the document's text."""
        starts = (self.start - self.page_start, *(self.start + at for at in self.page_breaks))
        ends = (*starts[1:], self.end)
        spans = []
        for page, start, end in zip(self.pages, starts, ends, strict=True):
            first = max(start, self.start)
            before = len(without_spaces(document[start:first]))
            spans.append(PageSpan(page, before, before + len(without_spaces(document[first:end]))))
        return join_spans(spans)


@dataclass(frozen=True, slots=True)
class FileChunk:
    """A span of a file: `text` is exactly `part[start:end]` of its page, part or text file.

    On a page, a bare heading is followed by the text below it, which may be that of the next page.

    `tokens` is the embedding model's count for `text` alone. `heading` is the context (headings
    or definitions around the text) that is embedded before it; empty if the text contains it.
    `metadata` has the fields of the file's format; fields that do not apply are left out.
    `hidden` is the number of invisible characters on its page.
    """

    text: str
    start: int
    end: int
    tokens: int
    heading: str
    metadata: Mapping[str, str | int]
    hidden: int = 0


def file_chunk_from_json(frame: Mapping[str, Any]) -> FileChunk:
    """Restore a chunk that `dataclasses.asdict` and JSON have converted."""
    return FileChunk(**frame)
