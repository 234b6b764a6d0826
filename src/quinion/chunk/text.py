"""Plain text splitter: as many paragraphs per chunk as fit."""

from quinion.chunk.line_numbers import LineCounter
from quinion.chunk.splitter import split_span
from quinion.chunk.token_offsets import Measure, TokenOffsets
from quinion.model.chunk import FileChunk


def split_text(text: str, measure: Measure, size: int) -> list[FileChunk]:
    """Split a text into chunks of at most `size` tokens, each with its line numbers."""
    offsets = TokenOffsets(text, measure)
    lines = LineCounter(text)
    return [
        FileChunk(
            text=text[start:end],
            start=start,
            end=end,
            tokens=offsets.count(start, end),
            heading="",
            metadata={"start_line": lines.at(start), "end_line": lines.at(end - 1)},
        )
        for start, end in split_span(offsets, (0, len(text)), size)
    ]
