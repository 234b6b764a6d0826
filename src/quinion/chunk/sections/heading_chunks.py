"""Chunks of bare headings: embedded and found with the text that follows.

A heading alone answers no question, and its few words match many. Its chunk is stored with the
first text after it, as far as it fits; a reference to the heading still returns its own words only.
"""

from collections.abc import Sequence
from dataclasses import replace

from quinion.chunk.recursive import Sizes, split
from quinion.model.section import Kind, Section, SectionChunk

LINE_BREAK = "\n"


def add_text_below(
    chunks: Sequence[SectionChunk], sections: Sequence[Section], sizes: Sizes
) -> list[SectionChunk]:
    """Give each chunk of a bare heading the text below it.

    Footnotes are passed over: they stand between a heading at the foot of a page and its text.
    """
    result = list(chunks)
    below: list[SectionChunk] = []
    for chunk in reversed(chunks):
        section = sections[chunk.section_index]
        if section.is_heading:
            result[chunk.index] = _with_text_below(chunk, below, sizes.size)
            below = [chunk, *below]
        elif section.kind is not Kind.FOOTNOTE:
            below = [chunk]
    return result


def _with_text_below(chunk: SectionChunk, below: Sequence[SectionChunk], size: int) -> SectionChunk:
    """Append the chunks below, up to the first that is no heading, cut to the size."""
    parts: list[str] = []
    pages = set(chunk.pages)
    room = size - len(chunk.text)
    for other in below:
        room -= len(LINE_BREAK)
        spans = split(other.text, Sizes(room, 0)) if room > 0 else []
        if not spans:
            break
        start, end = spans[0]
        parts.append(other.text[start:end])
        pages.update(other.pages)
        room -= end - start
    return replace(chunk, below=LINE_BREAK.join(parts), below_pages=tuple(sorted(pages)))
