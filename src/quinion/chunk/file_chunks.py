"""Splitting of a file's text by its syntax."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from quinion.chunk.code import split_code
from quinion.chunk.markdown import split_markdown
from quinion.chunk.text import split_text
from quinion.chunk.token_offsets import Measure
from quinion.model.chunk import FileChunk
from quinion.model.text_part import Lines, Syntax, TextPart

_SPLITTERS = {
    Syntax.PLAIN: split_text,
    Syntax.MARKDOWN: split_markdown,
    Syntax.PYTHON: split_code,
}
_NAMES: Mapping[Lines, Mapping[str, str]] = {
    Lines.FILE: {},
    Lines.ROWS: {"start_line": "start_row", "end_line": "end_row"},
    Lines.NONE: {"start_line": "", "end_line": ""},
}
"""New names of the line numbers; empty if they are removed."""


def split_parts(parts: Iterable[TextPart], measure: Measure, size: int) -> Iterator[FileChunk]:
    """Split the parts of a file into chunks of at most `size` tokens, headings included.

    The chunks of a part are in order, do not overlap, and omit only white space.
    """
    for part in parts:
        for chunk in _SPLITTERS[part.syntax](part.text, measure, size):
            yield replace(chunk, metadata={**_cite_lines(chunk, part.lines), **part.place})


def _cite_lines(chunk: FileChunk, lines: Lines) -> dict[str, str | int]:
    """Keep the line numbers, or rename or remove them if they are not those of the file."""
    names = _NAMES[lines]
    return {
        names.get(key, key): value for key, value in chunk.metadata.items() if names.get(key, key)
    }
