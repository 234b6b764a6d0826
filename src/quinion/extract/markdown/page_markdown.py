"""Convert a PyMuPDF page to Markdown, with its figures as JPEGs."""
# PyMuPDF is marked as typed, but most of its functions have no annotations.
# mypy: allow-untyped-calls

import base64
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pymupdf4llm.helpers.document_layout import (  # type: ignore[import-untyped]
    LayoutBox,
    parse_document,
)

from quinion.extract.markdown.scan_figures import FindPatches, add_pictures
from quinion.extract.markdown.scan_order import order_boxes
from quinion.extract.markdown.scan_tables import read_cells
from quinion.extract.pdf.coverage import Box
from quinion.extract.pdf.mupdf import pymupdf

DPI = 150
"""Resolution of figures, and the unit of their boxes."""
POINTS_PER_INCH = 72

_MAX_HEADING_LEVEL = 6
_QUALITY = 85
# Smaller pictures (in points) are bullets, rules and specks.
_MIN_FIGURE_SIDE = 20.0

_PICTURE_TEXT = re.compile(
    r"<!-- Start of picture text -->\n(.*?)<!-- End of picture text -->", re.DOTALL
)
_HEADING = re.compile(r"^(#+ )(.*)$", re.MULTILINE)
_IMAGE = re.compile(r"!\[\]\(([^)\n]*)\)")
# Some PDFs have an accent and its letter as two characters, the accent first.
_ACCENTS = dict(
    zip(
        "´ˇ˘˝¨˙˚¸˛ˆ˜",
        "\u0301\u030c\u0306\u030b\u0308\u0307\u030a\u0327\u0328\u0302\u0303",
        strict=True,
    )
)
_ACCENTED = re.compile(f"([{''.join(_ACCENTS)}])([^\\W\\d_])")
_MANY_BREAKS = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure cropped from a page. `box` is left, top, right, bottom in pixels at `DPI`."""

    id: str
    box: tuple[int, int, int, int]
    jpeg: str
    """The JPEG in Base64, because workers reply in JSON."""


@dataclass(frozen=True, slots=True)
class MarkdownPage:
    """A page as Markdown; `number` is 1-based, `width` and `height` are in pixels."""

    number: int
    markdown: str
    figures: tuple[Figure, ...]
    width: int
    height: int
    header: str
    footer: str
    dpi: int = DPI


def convert(
    document: pymupdf.Document,
    number: int,
    sizes: Sequence[int],
    find_patches: FindPatches | None = None,
    words: Iterable[tuple[Box, str]] = (),
) -> MarkdownPage:
    """Convert the only page of a document to Markdown.

    `sizes` are the font sizes of headings in the entire document. `find_patches`, and `words` with
    their boxes in points, are passed for scanned pages only.
    """
    parsed = parse_document(document, use_ocr=False, force_text=True)
    if find_patches is not None:
        add_pictures(document[0], parsed.pages[0].boxes, find_patches)
        known = list(words)
        order_boxes(parsed.pages[0].boxes, known)
        read_cells(parsed.pages[0].boxes, known)
    edges = {"page-header": "", "page-footer": ""}
    figures: list[Figure] = []
    for box in parsed.pages[0].boxes:
        if box.boxclass in edges:
            edges[box.boxclass] += _plain_text(box) + "\n"
        elif box.boxclass in ("title", "section-header"):
            box.header_level = _level(box, sizes)
        elif box.boxclass == "formula":
            box.boxclass = "text"
        elif box.boxclass == "picture" and _is_figure(box):
            frame = pymupdf.Rect(box.x0, box.y0, box.x1, box.y1)
            figures.append(_cut_figure(document[0], frame, _name(number, len(figures) + 1)))
            box.image = figures[-1].id
    markdown = _tidy(str(parsed.to_markdown(header=False, footer=False)))
    return _page(number, document[0], markdown, tuple(figures), *edges.values())


def page_as_figure(document: pymupdf.Document, number: int) -> MarkdownPage:
    """Convert the only page of a document to a single figure, because it has no text."""
    figure = _cut_figure(document[0], document[0].rect, _name(number, 1))
    return _page(number, document[0], f"![{figure.id}]({figure.id})", (figure,))


def empty_page(document: pymupdf.Document, number: int) -> MarkdownPage:
    """Convert the only page of a document, which is blank."""
    return _page(number, document[0], "")


def _page(
    number: int,
    page: pymupdf.Page,
    markdown: str,
    figures: tuple[Figure, ...] = (),
    header: str = "",
    footer: str = "",
) -> MarkdownPage:
    width, height = (round(side * DPI / POINTS_PER_INCH) for side in page.rect.br)
    return MarkdownPage(number, markdown, figures, width, height, header.strip(), footer.strip())


def _name(number: int, count: int) -> str:
    return f"img-{number}-{count}.jpeg"


def _plain_text(box: LayoutBox) -> str:
    return " ".join(span["text"].strip() for line in box.textlines for span in line["spans"])


def _level(box: LayoutBox, sizes: Sequence[int]) -> int:
    """The level of a heading, by the rank of its font size in the entire document."""
    if not sizes:
        return 1 if box.boxclass == "title" else 2
    larger = sum(size > (box.max_fontsize or 0) for size in sizes)
    return min(larger + 1, _MAX_HEADING_LEVEL)


def _is_figure(box: LayoutBox) -> bool:
    return bool(min(box.x1 - box.x0, box.y1 - box.y0) >= _MIN_FIGURE_SIDE)


def _cut_figure(page: pymupdf.Page, frame: pymupdf.Rect, name: str) -> Figure:
    pixels = page.get_pixmap(clip=frame, dpi=DPI, alpha=False)
    jpeg = pixels.tobytes("jpeg", jpg_quality=_QUALITY)
    corners = (pixels.x, pixels.y, pixels.x + pixels.width, pixels.y + pixels.height)
    return Figure(name, corners, base64.b64encode(jpeg).decode())


def _tidy(markdown: str) -> str:
    """Name images in links, remove bold from headings, and trim trailing spaces."""
    markdown = _IMAGE.sub(r"![\1](\1)", markdown)
    markdown = _PICTURE_TEXT.sub(lambda found: found[1].replace("<br>", "\n"), markdown)
    markdown = _HEADING.sub(lambda found: found[1] + found[2].replace("**", "").strip(), markdown)
    markdown = _ACCENTED.sub(_compose, markdown)
    markdown = "\n".join(line.rstrip() for line in markdown.split("\n"))
    return _MANY_BREAKS.sub("\n\n", markdown).strip()


def _compose(found: "re.Match[str]") -> str:
    letter = unicodedata.normalize("NFC", found[2] + _ACCENTS[found[1]])
    return letter if len(letter) == 1 else found[0]
