"""Markdown splitter: chunks never cross from one section into another.

Each chunk carries its heading path. A heading without text joins the first section inside it,
whose path includes it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from quinion.chunk.headings import HEADING_SHARE, SEPARATOR, fit_heading
from quinion.chunk.line_numbers import LineCounter
from quinion.chunk.markdown_outline import MarkdownSection, read_outline
from quinion.chunk.splitter import BY_LINES, Level, split_span
from quinion.chunk.token_offsets import Measure, Span, TokenOffsets
from quinion.model.chunk import FileChunk


def split_markdown(text: str, measure: Measure, size: int) -> list[FileChunk]:
    """Split Markdown into chunks of at most `size` tokens, heading included."""
    offsets = TokenOffsets(text, measure)
    lines = LineCounter(text)
    outline = read_outline(text)
    levels = (*outline.levels, *BY_LINES)
    return [
        FileChunk(
            text=text[start:end],
            start=start,
            end=end,
            tokens=offsets.count(start, end),
            heading=heading,
            metadata={
                "header_path": SEPARATOR.join(section.path),
                "header_level": section.level,
                "start_line": lines.at(start),
                "end_line": lines.at(end - 1),
            },
        )
        for section in _join_bare_headings(outline.sections, offsets, size // HEADING_SHARE)
        for (start, end), heading in _split_section(section, offsets, measure, size, levels)
    ]


def _join_bare_headings(
    sections: Sequence[MarkdownSection], offsets: TokenOffsets, limit: int
) -> list[MarkdownSection]:
    """Join sections that are only a short heading with their first subsection."""
    joined: list[MarkdownSection] = []
    for section in reversed(sections):
        is_bare = section.level > 0 and not offsets.text[section.body : section.end].strip()
        if (
            is_bare
            and joined
            and joined[-1].level > section.level
            and offsets.weigh(section.start, joined[-1].body) <= limit
        ):
            joined[-1] = replace(joined[-1], start=section.start, outer=section.outer)
        else:
            joined.append(section)
    return joined[::-1]


def _split_section(
    section: MarkdownSection,
    offsets: TokenOffsets,
    measure: Measure,
    size: int,
    levels: Sequence[Level],
) -> Iterator[tuple[Span, str]]:
    """Split a section; yield each part with the heading that its text lacks."""
    span = (section.start, section.end)
    outer, outer_tokens = fit_heading(section.outer, measure, size // HEADING_SHARE)
    first = size - outer_tokens
    if offsets.weigh(*span) <= first:
        yield from ((part, outer) for part in split_span(offsets, span, first))
        return
    path, path_tokens = fit_heading(section.path, measure, size // HEADING_SHARE)
    parts = split_span(offsets, span, size - path_tokens, levels, first, section.body)
    yield from ((part, path if index else outer) for index, part in enumerate(parts))
