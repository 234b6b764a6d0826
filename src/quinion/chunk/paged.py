"""Pages → chunks that never go from one page to the next."""

from collections.abc import Sequence
from enum import StrEnum

from quinion.chunk.splitter import BY_SENTENCES, split_span
from quinion.chunk.token_offsets import Measure, TokenOffsets
from quinion.model.chunk import FileChunk
from quinion.model.page import Page


class Position(StrEnum):
    """Where on its page a chunk is; the only one is at the start."""

    START = "start"
    MIDDLE = "middle"
    END = "end"


def split_pages(pages: Sequence[Page], measure: Measure, size: int) -> list[FileChunk]:
    """Chunks of at most `size` tokens; their places are those in their page's own text."""
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
