"""Page splitter: chunks never cross from one page into another, except for bare headings.

A chunk that would have nothing but page numbers and running headers, or a few lines of a table of
contents, is left out: it matches many queries and answers none. A heading alone on its page also
has the text below it.
"""

from collections.abc import Sequence, Set
from dataclasses import replace
from enum import StrEnum

from quinion.chunk.bare_headings import is_bare_heading, is_contents
from quinion.chunk.page_edges import find_running_lines, is_furniture
from quinion.chunk.splitter import BY_SENTENCES, split_span
from quinion.chunk.token_offsets import CHARACTERS, Measure, TokenOffsets
from quinion.model.chunk import FileChunk
from quinion.model.page import (
    PAGE_SPANS,
    Page,
    PageSpan,
    cut_spans,
    format_spans,
    join_spans,
    parse_spans,
    without_spaces,
)

_LINE_BREAK = "\n"


class Position(StrEnum):
    """Position of a chunk on its page; a single chunk is at the start."""

    START = "start"
    MIDDLE = "middle"
    END = "end"


def split_pages(pages: Sequence[Page], measure: Measure, size: int) -> list[FileChunk]:
    """Split pages into chunks of at most `size` tokens; offsets are relative to the page."""
    running = find_running_lines(pages)
    chunks = [chunk for page in pages for chunk in _split_page(page, measure, size, running)]
    if not chunks:  # All pages have the same few lines: they are the text.
        chunks = [chunk for page in pages for chunk in _split_page(page, measure, size, None)]
    for index in reversed(range(len(chunks) - 1)):
        if is_bare_heading(chunks[index].text):
            chunks[index] = _add_text_below(chunks[index], chunks[index + 1], measure, size)
    return chunks


def _split_page(
    page: Page, measure: Measure, size: int, running: Set[str] | None
) -> list[FileChunk]:
    offsets = TokenOffsets(page.text, measure)
    spans = [
        (start, end)
        for start, end in split_span(offsets, (0, len(page.text)), size, BY_SENTENCES)
        if running is None or not _is_left_out(page.text[start:end], running)
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
                PAGE_SPANS: format_spans([_page_span(page, start, end)]),
            },
            hidden=page.hidden,
        )
        for index, (start, end) in enumerate(spans)
    ]


def _is_left_out(text: str, running: Set[str]) -> bool:
    return is_furniture(text, running) or is_contents(text)


def _add_text_below(chunk: FileChunk, below: FileChunk, measure: Measure, size: int) -> FileChunk:
    """Append the text of the chunk below, cut to the size.

    Text of a page with invisible text stays there: its chunks have a mark that says so.
    """
    own = TokenOffsets(chunk.text, measure)
    room = size - own.weigh(0, len(chunk.text)) - len(measure(_LINE_BREAK))
    if room <= 0 or (below.hidden and not chunk.hidden):
        return chunk
    others = split_span(TokenOffsets(below.text, measure), (0, len(below.text)), room, BY_SENTENCES)
    start, end = next(others)
    text = f"{chunk.text}{_LINE_BREAK}{below.text[start:end]}"
    tokens = len(measure(text))
    if tokens > size or len(text) > CHARACTERS * size:
        return chunk
    cut = (len(without_spaces(below.text[:offset])) for offset in (start, end))
    spans = [
        *parse_spans(str(chunk.metadata[PAGE_SPANS])),
        *cut_spans(parse_spans(str(below.metadata[PAGE_SPANS])), *cut),
    ]
    metadata = {**chunk.metadata, PAGE_SPANS: format_spans(join_spans(spans))}
    return replace(chunk, text=text, tokens=tokens, metadata=metadata)


def _page_span(page: Page, start: int, end: int) -> PageSpan:
    before = len(without_spaces(page.text[:start]))
    return PageSpan(page.number, before, before + len(without_spaces(page.text[start:end])))


def _position(index: int, count: int) -> Position:
    if index == 0:
        return Position.START
    return Position.END if index == count - 1 else Position.MIDDLE
