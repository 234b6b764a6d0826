"""Splitting of a file's text by its syntax."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from quinion.chunk.code import split_code
from quinion.chunk.markdown import split_markdown
from quinion.chunk.text import split_text
from quinion.chunk.token_offsets import Measure
from quinion.model.chunk import FileChunk
from quinion.model.text_part import Syntax, TextPart

_SPLITTERS = {
    Syntax.PLAIN: split_text,
    Syntax.MARKDOWN: split_markdown,
    Syntax.PYTHON: split_code,
}
_LINES = frozenset({"start_line", "end_line"})


def split_parts(parts: Iterable[TextPart], measure: Measure, size: int) -> Iterator[FileChunk]:
    """Split the parts of a file into chunks of at most `size` tokens, headings included.

    The chunks of a part are in order, do not overlap, and omit only white space.
    """
    for part in parts:
        for chunk in _SPLITTERS[part.syntax](part.text, measure, size):
            yield _cite_place(chunk, part.place) if part.place else chunk


def _cite_place(chunk: FileChunk, place: Mapping[str, str | int]) -> FileChunk:
    """Replace the line numbers, which are not those of the file, by the place of the part."""
    others = {key: value for key, value in chunk.metadata.items() if key not in _LINES}
    return replace(chunk, metadata={**others, **place})
