"""Office and web files as PDF, for the document library, whose results are pages and images.

Word, HTML and EPUB files are laid out by PyMuPDF, with their pictures. Of the others each part
(slide, sheet, message) begins on a page of its own, headed by its name. The same file always gives
the same bytes.
"""
# PyMuPDF is marked as typed, but most of its functions have no annotations.
# mypy: allow-untyped-calls

from collections.abc import Iterator
from html import escape
from pathlib import Path

from quinion.errors import ExtractionFailed
from quinion.extract.formats import OFFICE, WEB
from quinion.extract.pdf.mupdf import DAMAGE, pymupdf
from quinion.model.text_part import Syntax, TextPart

_REFLOWABLE = frozenset({".docx", ".epub", *WEB.extensions})
_WIDTH, _HEIGHT, _FONT_SIZE = 595, 842, 11
"""A4 in points."""


def convert(path: Path, extension: str, target: Path) -> int:
    """Write the file as PDF and return the number of its pages.

    Raises:
        ExtractionFailed: damaged, protected, too large, or without text.
    """
    parts = list(OFFICE[extension].read_parts(path, extension))
    if not parts:
        raise ExtractionFailed(f"{path.name} has no text. Check that it is the right file.")
    try:
        with pymupdf.open() as result:
            for data, kind in _documents(path, extension, parts):
                with pymupdf.open(stream=data, filetype=kind) as laid_out:
                    laid_out.layout(width=_WIDTH, height=_HEIGHT, fontsize=_FONT_SIZE)
                    pdf = laid_out.convert_to_pdf()
                with pymupdf.open(stream=pdf, filetype="pdf") as pages:
                    result.insert_pdf(pages)
            result.save(target, garbage=3, deflate=True, no_new_id=True)
            return int(result.page_count)
    except DAMAGE as cause:
        raise ExtractionFailed(
            f"{path.name} cannot be converted to PDF ({cause}). Print it to a PDF and add that."
        ) from cause


def _documents(path: Path, extension: str, parts: list[TextPart]) -> Iterator[tuple[bytes, str]]:
    """Yield documents that PyMuPDF lays out, with their kind."""
    if extension in _REFLOWABLE:
        yield path.read_bytes(), "html" if extension in WEB.extensions else extension[1:]
        return
    for part in parts:
        yield _to_html(part).encode(), "html"


def _to_html(part: TextPart) -> str:
    named = (f"{name.capitalize()} {value}" for name, value in part.place.items())
    title = "" if "message" in part.place else ", ".join(named)
    separator = "\n\n" if part.syntax is Syntax.MARKDOWN else "\n"
    blocks = (block for block in part.text.split(separator) if block.strip())
    shown = f"<p>{escape(title)}</p>" if title else ""
    return f"<html><body>{shown}{''.join(map(_to_block, blocks))}</body></html>"


def _to_block(block: str) -> str:
    marks, _, text = block.partition(" ")
    if marks and not marks.strip("#"):
        return f"<h{len(marks)}>{escape(text)}</h{len(marks)}>"
    return f"<p>{escape(block)}</p>"
