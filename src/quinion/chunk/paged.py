"""Page splitter: chunks never cross from one page into another.

A chunk that would have nothing but page numbers and running headers is left out: it matches many
queries and answers none.
"""

from collections.abc import Sequence, Set
from enum import StrEnum

from quinion.chunk.page_edges import find_running_lines, is_furniture
from quinion.chunk.splitter import BY_SENTENCES, split_span
from quinion.chunk.token_offsets import Measure, TokenOffsets
from quinion.model.chunk import FileChunk
from quinion.model.page import Page


class Position(StrEnum):
    """Position of a chunk on its page; a single chunk is at the start."""

    START = "start"
    MIDDLE = "middle"
    END = "end"


def split_pages(pages: Sequence[Page], measure: Measure, size: int) -> list[FileChunk]:
    """Split pages into chunks of at most `size` tokens; offsets are relative to the page."""
    running = find_running_lines(pages)
    chunks = [chunk for page in pages for chunk in _split_page(page, measure, size, running)]
    if chunks:
        return chunks
    # All pages have the same few lines: they are the text.
    return [chunk for page in pages for chunk in _split_page(page, measure, size, None)]


def _split_page(
    page: Page, measure: Measure, size: int, running: Set[str] | None
) -> list[FileChunk]:
    offsets = TokenOffsets(page.text, measure)
    spans = [
        (start, end)
        for start, end in split_span(offsets, (0, len(page.text)), size, BY_SENTENCES)
        if running is None or not is_furniture(page.text[start:end], running)
    ]
    return [
        FileChunk(
            text=page.text[start:end],
            start=start,
            end=end,
            tokens=offsets.count(start, end),
            heading="",
            metadata={
                "page_number": page.number,
                "page_position": str(_position(index, len(spans))),
            },
            hidden=page.hidden,
        )
        for index, (start, end) in enumerate(spans)
    ]


def _position(index: int, count: int) -> Position:
    if index == 0:
        return Position.START
    return Position.END if index == count - 1 else Position.MIDDLE
