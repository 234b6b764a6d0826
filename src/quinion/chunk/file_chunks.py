"""The text of a file → chunks, by the file's format."""

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
    """Chunks of at most `size` tokens, headings included: in order, disjoint, nothing left out.

    Raises:
        ValueError: the format is one with pages, which `split_pages` splits.
    """
    splitter = _SPLITTERS.get(format)
    if splitter is None:
        raise ValueError(f"{format} files are split by pages, not as one text")
    return splitter(text, measure, size)
