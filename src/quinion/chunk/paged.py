"""Page splitter: chunks never cross from one page into another."""

from collections.abc import Sequence
from enum import StrEnum

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
    return [chunk for page in pages for chunk in _split_page(page, measure, size)]


def _split_page(page: Page, measure: Measure, size: int) -> list[FileChunk]:
    offsets = TokenOffsets(page.text, measure)
    spans = list(split_span(offsets, (0, len(page.text)), size, BY_SENTENCES))
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
