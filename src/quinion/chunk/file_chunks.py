"""Splitting of a file's text by its format."""

from quinion.chunk.code import split_code
from quinion.chunk.markdown import split_markdown
from quinion.chunk.text import split_text
from quinion.chunk.token_offsets import Measure
from quinion.model.chunk import FileChunk
from quinion.model.file_format import Format

_SPLITTERS = {
    Format.MARKDOWN: split_markdown,
    Format.TEXT: split_text,
    Format.CODE: split_code,
}


def split_file_text(text: str, format: Format, measure: Measure, size: int) -> list[FileChunk]:
    """Split a text into chunks of at most `size` tokens, headings included.

    The chunks are in order, do not overlap, and omit only white space.

    Raises:
        ValueError: the format has pages; use `split_pages`.
    """
    splitter = _SPLITTERS.get(format)
    if splitter is None:
        raise ValueError(f"{format} files are split by pages, not as one text")
    return splitter(text, measure, size)
