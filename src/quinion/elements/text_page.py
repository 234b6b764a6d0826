"""Build the layout of a page with a text layer.

Rows come from the text layer, regions from PyMuPDF's layout model, pictures from the ink that
remains after the text is erased, cells of tables from PyMuPDF's table finder.
"""
# PyMuPDF is marked as typed, but most of its functions have no annotations.
# mypy: allow-untyped-calls

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quinion.elements.ink_patches import SCAN_CONTRAST, find_patches
from quinion.elements.mupdf_layout import pymupdf
from quinion.elements.page_layout import Grid, PageLayout, Region, RegionKind, Style, TextRow, merge
from quinion.model.element import Box, Rows

# Text with a steeper slope than this runs up or down the page.
_MAX_SLOPE = 0.1
# The maximum gap between pieces of a row, relative to their size.
_MAX_GAP = 1.3
# Pieces side by side may overlap by this, in points: italics lean.
_MAX_OVERLAP = 2.0
# Maximum height of a row, relative to its size. OCR layers may stretch letters over half a page.
_MAX_HEIGHT_RATIO = 4.0
# Equal rows within this many points are one row, printed twice to look bold.
_REPEAT_DISTANCE = 2.5
# A page with a longer side (in points) is a poster: the model does not support it, and its pixels
# would not fit into memory.
MAX_SIDE = 5_000
# An image that covers this share of a page is its background, or a scan of it.
MIN_BACKGROUND_COVER = 0.8
# The maximum offset of a scan's text layer, in points.
_LAYER_OFFSET = 2.5
# The body font is taken from so many pages.
_SAMPLE_PAGES = 12

_BOLD = 1 << 4
_MONO = 1 << 3
_BOLD_NAMES = re.compile(r"bold|black|heavy|semibold|demi", re.IGNORECASE)
_MONO_NAMES = re.compile(r"mono|courier|consol|code|CMTT|menlo|typewriter", re.IGNORECASE)
_MATH_FONTS = re.compile(
    r"CMMI|CMSY|CMEX|CMBSY|MSBM|MSAM|MTMI|MTSY|MTEX|MathematicalPi|Math|Symbol|Euclid|rsfs|eufm"
    r"|txsy|txmi|pxsy|pxmi|LMMath|stix.*math",
    re.IGNORECASE,
)
_MATH_SIGNS = re.compile(r"[=+±×÷∑∏∫√∞≤≥≠≈∂∆∇∈∉⊂∪∩→←⇒⇔∥∝·−α-ωΑ-Ω\U0001d400-\U0001d7ff]")

_REGION_KINDS = frozenset(map(str, RegionKind))

_Span = Mapping[str, Any]


def read_text_layer(page: pymupdf.Page, number: int, body: Style) -> PageLayout:
    """Build the layout of a page; the page must not be rotated."""
    frame = to_box(page.rect)
    rows = read_rows(page)
    if max(frame.width, frame.height) > MAX_SIDE:
        return PageLayout(number, frame, rows, body=body)
    regions = read_regions(page)
    pictures = tuple(_read_pictures(page))
    return PageLayout(number, frame, rows, regions, pictures, read_grids(page), body)


def has_background(page: pymupdf.Page) -> bool:
    """Whether images cover nearly all of the page, as in a scan."""
    frame = to_box(page.rect)
    images = [to_box(image["bbox"]) & frame for image in page.get_image_info()]
    combined = merge([box for box in images if box.area], 0.0)
    return any(box.area > MIN_BACKGROUND_COVER * frame.area for box in combined)


def read_rows(page: pymupdf.Page) -> tuple[TextRow, ...]:
    """Read the horizontal rows, in the file's order."""
    pieces = [
        piece
        for line, block in _read_lines(page)
        if abs(line["dir"][1]) < _MAX_SLOPE
        and line["dir"][0] > 0
        and (piece := _read_piece(line, block)).text
        and piece.box.height < _MAX_HEIGHT_RATIO * piece.size
    ]
    return _drop_repeats(_join_pieces(pieces))


def count_rotated_letters(page: pymupdf.Page) -> tuple[int, int]:
    """Count the letters that run up the page, and those that run down."""
    up = down = 0
    for line, _ in _read_lines(page):
        letters = sum(len(span["text"].strip()) for span in line["spans"])
        if line["dir"][1] < -1 + _MAX_SLOPE:
            up += letters
        elif line["dir"][1] > 1 - _MAX_SLOPE:
            down += letters
    return up, down


def read_regions(page: pymupdf.Page) -> tuple[Region, ...]:
    """Detect the regions of a page with the layout model."""
    page.get_layout(return_raw=True)
    groups: list[dict[str, Any]] = page.layout_information or []
    return tuple(
        Region(RegionKind(group["class_name"]), to_box(group["group_bbox"]))
        for group in groups
        if group["class_name"] in _REGION_KINDS
    )


def read_grids(page: pymupdf.Page) -> tuple[Grid, ...]:
    """Find tables with PyMuPDF, from rules and from the layout model."""
    found = page.find_tables(use_layout=True, union=True, refine=True).tables
    words = page.get_text("words") if found else []
    return tuple(Grid(to_box(table.bbox), _read_cells(table, words)) for table in found)


def _read_cells(table: Any, words: Sequence[Sequence[Any]]) -> Rows:
    """Read the words in each cell; PyMuPDF's own `extract` loses narrow spaces."""
    around = to_box(table.bbox)
    inside = [(centre, str(word[4])) for word in words if around.holds(centre := _centre(word))]

    def read(cell: Sequence[float] | None) -> str:
        if not cell:
            return ""
        box = to_box(cell)
        texts = []
        for centre, text in list(inside):
            if box.holds(centre):
                texts.append(text)
                inside.remove((centre, text))
        return " ".join(texts)

    return tuple(tuple(read(cell) for cell in row.cells) for row in table.rows)


def _centre(word: Sequence[Any]) -> tuple[float, float]:
    return (word[0] + word[2]) / 2, (word[1] + word[3]) / 2


def render_grey(page: pymupdf.Page, scale: float = 1.0) -> NDArray[np.uint8]:
    """Render the page in grey at `scale` pixels per point."""
    pixels = page.get_pixmap(
        matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csGRAY, alpha=False
    )
    # `samples` is a copy; the memory of `samples_mv` is freed with the pixmap.
    return np.frombuffer(pixels.samples, np.uint8).reshape(pixels.height, pixels.width)


def _read_pictures(page: pymupdf.Page) -> list[Box]:
    letters = [to_box(line["bbox"]) for line, _ in _read_lines(page)]
    grey = render_grey(page)
    if has_background(page):
        # Probably a scan with a text layer, which is rarely aligned exactly.
        letters = [box.grow(_LAYER_OFFSET) for box in letters]
        return find_patches(grey, letters, contrast=SCAN_CONTRAST)
    return find_patches(grey, letters)


def find_style(document: pymupdf.Document) -> Style:
    """Find the body font, from pages evenly spread over the document.

    The sample does not depend on the caller's range of pages, so all workers get the same result.
    """
    step = max(1, document.page_count // _SAMPLE_PAGES)
    weights: Counter[tuple[str, float]] = Counter()
    for index in range(step // 2, document.page_count, step):
        for row in read_rows(document[index]):
            weights[row.font, round(row.size, 1)] += len(row.text)
    if not weights:
        return Style()
    [((font, size), _)] = weights.most_common(1)
    return Style(font, size)


def to_box(sides: Sequence[float]) -> Box:
    """Convert PyMuPDF's rectangles and tuples."""
    x0, y0, x1, y1 = (round(float(side), 1) for side in tuple(sides)[:4])
    return Box(x0, y0, x1, y1)


def math_share(text: str) -> float:
    """The share of mathematical signs in a text."""
    return len(_MATH_SIGNS.findall(text)) / max(1, len(text.replace(" ", "")))


def _read_lines(page: pymupdf.Page) -> list[tuple[Mapping[str, Any], int]]:
    """Read PyMuPDF's lines, each with the number of its block."""
    content = page.get_text("dict", flags=pymupdf.TEXTFLAGS_TEXT)
    return [
        (line, block["number"]) for block in content["blocks"] for line in block.get("lines", ())
    ]


def _read_piece(line: Mapping[str, Any], block: int) -> TextRow:
    spans: list[_Span] = [span for span in line["spans"] if span["text"].strip()]
    if not spans:
        return TextRow("", to_box(line["bbox"]), 0.0)
    letters = [len(span["text"].strip()) for span in spans]
    total = sum(letters)
    main = max(zip(letters, spans, strict=True), key=lambda pair: pair[0])[1]
    text = " ".join("".join(span["text"] for span in line["spans"]).split())
    return TextRow(
        text=text,
        box=to_box(line["bbox"]),
        size=float(main["size"]),
        font=main["font"].split("+")[-1],
        block=block,
        bold=_share(spans, letters, _is_bold) > total / 2,
        mono=_share(spans, letters, _is_mono) > total / 2,
        math=max(_share(spans, letters, _is_math) / total, math_share(text)),
    )


def _share(spans: Sequence[_Span], letters: Sequence[int], matches: Any) -> int:
    return sum(count for span, count in zip(spans, letters, strict=True) if matches(span))


def _is_math(span: _Span) -> bool:
    return bool(_MATH_FONTS.search(span["font"]))


def _is_bold(span: _Span) -> bool:
    return bool(span["flags"] & _BOLD) or bool(_BOLD_NAMES.search(span["font"]))


def _is_mono(span: _Span) -> bool:
    return bool(span["flags"] & _MONO) or bool(_MONO_NAMES.search(span["font"]))


def _join_pieces(pieces: Iterable[TextRow]) -> list[TextRow]:
    """Join consecutive pieces that are close on one line to rows."""
    rows: list[TextRow] = []
    for piece in pieces:
        if rows and _continues(rows[-1], piece):
            rows[-1] = _join(rows[-1], piece)
        else:
            rows.append(piece)
    return rows


def _continues(row: TextRow, piece: TextRow) -> bool:
    gap = piece.box.x0 - row.box.x1
    shared = min(row.box.y1, piece.box.y1) - max(row.box.y0, piece.box.y0)
    height = min(row.box.height, piece.box.height)
    return (
        row.block == piece.block
        and -_MAX_OVERLAP < gap < _MAX_GAP * min(row.size, piece.size)
        and shared > height / 2
    )


def _join(row: TextRow, piece: TextRow) -> TextRow:
    both = len(row.text) + len(piece.text)
    leads = len(row.text) >= len(piece.text)
    return TextRow(
        text=f"{row.text} {piece.text}",
        box=row.box | piece.box,
        size=row.size if leads else piece.size,
        font=row.font if leads else piece.font,
        block=row.block,
        bold=row.bold if leads else piece.bold,
        mono=row.mono if leads else piece.mono,
        math=(row.math * len(row.text) + piece.math * len(piece.text)) / both,
    )


def _drop_repeats(rows: Iterable[TextRow]) -> tuple[TextRow, ...]:
    kept: dict[str, list[TextRow]] = {}
    result = []
    for row in rows:
        same = kept.setdefault(row.text, [])
        if any(_is_repeat(row.box, other.box) for other in same):
            continue
        same.append(row)
        result.append(row)
    return tuple(result)


def _is_repeat(one: Box, other: Box) -> bool:
    return abs(one.x0 - other.x0) < _REPEAT_DISTANCE and abs(one.y0 - other.y0) < _REPEAT_DISTANCE
