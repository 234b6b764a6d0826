"""Word, HTML and EPUB files as Markdown, read with PyMuPDF; their headings are cited.

MuPDF lays a document out before it reads it. The pages are made so large that few paragraphs are
cut. Scripts, styles and hidden elements of HTML are left out. Cells of tables become paragraphs.
"""
# PyMuPDF is marked as typed, but most of its functions have no annotations.
# mypy: allow-untyped-calls

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from quinion.errors import ExtractionFailed
from quinion.extract.office.archive import check_archive
from quinion.extract.pdf.mupdf import DAMAGE, OUT_OF_MEMORY, pymupdf
from quinion.extract.textfile import MAX_BYTES
from quinion.model.text_part import Lines, Syntax, TextPart

_WIDTH, _HEIGHT, _FONT_SIZE = 2_000, 20_000, 11
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_UNTAGGED_LEVEL = 4
# Text that Markdown would take for a heading or a fence.
_MARKUP = re.compile(r"#{1,6}(\s|$)|```|~~~")
_WEB = frozenset({".html", ".htm"})


def read_parts(path: Path, extension: str) -> Iterator[TextPart]:
    """Read a file for `extract.formats`: one part for each chapter.

    Raises:
        ExtractionFailed: damaged, too large, or protected.
    """
    if extension not in _WEB:
        check_archive(path)
    elif path.stat().st_size > MAX_BYTES:
        raise ExtractionFailed(f"{path.name} has more than {MAX_BYTES >> 20} MiB. Split it.")
    kind = "html" if extension in _WEB else extension[1:]
    for chapter in read_markdown(path.read_bytes(), kind, path.name):
        yield TextPart(chapter, Syntax.MARKDOWN, lines=Lines.NONE)


def read_markdown(data: bytes, kind: str, name: str) -> Iterator[str]:
    """Convert a document to Markdown, chapter by chapter.

    Raises:
        ExtractionFailed: damaged or protected.
    """
    try:
        with pymupdf.open(stream=data, filetype=kind) as document:
            if document.needs_pass:
                raise ExtractionFailed(f"{name} is protected. Save a copy without a password.")
            document.layout(width=_WIDTH, height=_HEIGHT, fontsize=_FONT_SIZE)
            outline = iter([(level, _fold(title)) for level, title, *_ in document.get_toc()])
            for chapter in range(document.chapter_count):
                pages = range(document.chapter_page_count(chapter))
                xhtml = "".join(document[(chapter, page)].get_text("xhtml") for page in pages)
                yield _to_markdown(xhtml, outline)
    except DAMAGE as cause:
        if str(cause).startswith(OUT_OF_MEMORY):
            raise MemoryError from cause
        raise ExtractionFailed(
            f"{name} is damaged and cannot be read. Open it and save it again, then retry."
        ) from cause


def _to_markdown(xhtml: str, outline: Iterator[tuple[int, str]]) -> str:
    """Convert MuPDF's output.

    It tags the first three levels of headings. The others are paragraphs in bold type, whose text
    is the next entry of the outline.
    """
    parser = _Blocks()
    parser.feed(xhtml)
    expected = next(outline, None)
    blocks = []
    for level, text, is_bold in parser.blocks:
        is_listed = expected is not None and expected[1] == text and (level > 0 or is_bold)
        depth = level
        if is_listed and expected is not None:
            depth = level or max(_UNTAGGED_LEVEL, expected[0])
            expected = next(outline, None)
        shown = f"\\{text}" if _MARKUP.match(text) else text
        blocks.append(f"{'#' * depth} {shown}".strip())
    return "\n\n".join(blocks)


def _fold(text: str) -> str:
    return " ".join(text.split())


class _Blocks(HTMLParser):
    """Collects paragraphs and headings: level (0 for a paragraph), text, whether all is bold."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[tuple[int, str, bool]] = []
        self._text: list[str] = []
        self._bold = 0
        self._is_bold = True

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._bold += tag == "b"

    def handle_data(self, data: str) -> None:
        self._text.append(data)
        self._is_bold &= self._bold > 0 or data.isspace()

    def handle_endtag(self, tag: str) -> None:
        self._bold -= tag == "b"
        if tag != "p" and tag not in _LEVELS:
            return
        if text := _fold("".join(self._text)):
            self.blocks.append((_LEVELS.get(tag, 0), text, self._is_bold))
        self._text.clear()
        self._is_bold = True
