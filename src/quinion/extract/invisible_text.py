"""Detect invisible text: transparent, tiny, or white on white.

Invisible text may be a prompt injection. It is logged and counted, and pages that have any are
flagged in results. The invisible text layer that OCR programs add to a scan is not hidden, because
the same words are visible. Nor is white text on a dark background.

Limits: text outside of the page is never extracted, so it is not checked. Pages with more text than
`MAX_CHECKED_CHARACTERS` are not checked. Coloured text on a background of the same colour, and text
covered by a picture, are not detected.
"""
# PyMuPDF is marked as typed, but most of its functions have no annotations.
# mypy: allow-untyped-calls

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from PIL import Image

from quinion.extract.pdf.coverage import Box, cover_ratio
from quinion.extract.pdf.mupdf import DAMAGE, pymupdf

# Text smaller than this, in points, is unreadable on any screen.
MIN_FONT_SIZE = 1.0
# The minimum of each colour channel for white, and the minimum contrast of visible text.
_WHITE = 0xF0
_CONTRAST = 12
# Transparent text of which pictures cover this share is the text layer of a scan.
_MIN_PICTURE_COVER = 0.5
_MAX_SIDE = 1_500
MAX_CHECKED_CHARACTERS = 50_000
"""Pages with more characters are not checked: the check would take longer than extraction."""

# Matches, in HTML, all text except opaque black of two points or more. A transparent colour is
# written like any other, except that black is then omitted.
_OTHER_PRINT = re.compile(r"font-size:(?!(?:[2-9]|[1-9]\d+)\.\dpt;color:#000000)")

_log = logging.getLogger(__name__)

Span = Mapping[str, Any]
Content = Mapping[str, Any]
"""A page's text as PyMuPDF returns it: blocks, lines, spans."""


def may_have_hidden_text(html: str) -> bool:
    """Whether a page's text, in PyMuPDF's HTML format, needs the full check.

    This test takes a third of the time of the full check, and rules out more than half of all
    pages.
    """
    return _OTHER_PRINT.search(html) is not None


def count_hidden(page: pymupdf.Page, content: Content, name: str) -> int:
    """Count the invisible characters of a page, and log a warning if there are any."""
    count = len(find_hidden(page, content))
    if count:
        _log.warning(
            "%s, page %d: %d characters of its text cannot be seen on the page",
            name,
            page.number + 1,
            count,
        )
    return count


def find_hidden(page: pymupdf.Page, content: Content) -> str:
    """Return the invisible text of the page."""
    spans = [
        span
        for block in content["blocks"]
        for line in block.get("lines", ())
        for span in line["spans"]
    ]
    hidden = find_hidden_spans(page, spans)
    return " ".join(" ".join(span["text"] for span in hidden).split())


def find_hidden_spans(page: pymupdf.Page, content: Iterable[Span]) -> list[Span]:
    """Return the spans of the page with invisible text."""
    spans = list(_find_candidates(content))
    invisible = [span for span in spans if span["alpha"] == 0]
    seen = [span for span in spans if span["alpha"]]
    pictures = _find_pictures(page) if invisible else []
    return [
        *(span for span in invisible if cover_ratio(pictures, span["bbox"]) < _MIN_PICTURE_COVER),
        *(span for span in seen if _is_tiny(span)),
        *_find_low_contrast(page, [span for span in seen if _is_white(span["color"])]),
    ]


def _find_candidates(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield spans that may be hidden, by cheap tests. Most pages have none."""
    for span in spans:
        suspect = not span["alpha"] or span["size"] < MIN_FONT_SIZE or _is_white(span["color"])
        if suspect and any(map(str.isalnum, span["text"])):
            yield span


def _find_pictures(page: pymupdf.Page) -> list[Box]:
    content = page.get_textpage(flags=pymupdf.TEXT_PRESERVE_IMAGES)
    return [image["bbox"] for image in content.extractIMGINFO()]


def _is_tiny(span: Span) -> bool:
    # Type 3 fonts may state any size, so the width of the letters is checked too.
    left, _, right, _ = span["bbox"]
    return bool(span["size"] < MIN_FONT_SIZE and right - left < MIN_FONT_SIZE * len(span["text"]))


def _is_white(colour: int) -> bool:
    return colour & 0xFF >= _WHITE and all(colour >> shift & 0xFF >= _WHITE for shift in (8, 16))


def _find_low_contrast(page: pymupdf.Page, spans: Sequence[Span]) -> Iterator[Span]:
    """Yield the spans at which the rendered page has a single shade."""
    if not spans:
        return
    zoom = min(1.0, _MAX_SIDE / max(page.rect.width, page.rect.height))
    matrix = pymupdf.Matrix(zoom, zoom)
    try:
        drawn = page.get_pixmap(matrix=matrix, colorspace=pymupdf.csGRAY, alpha=False)
    except DAMAGE:
        return  # the page cannot be rendered, but its text can still be read
    grey = Image.frombytes("L", (drawn.width, drawn.height), drawn.samples_mv)
    for span in spans:
        box = pymupdf.Rect(span["bbox"]) * page.rotation_matrix * matrix & (0, 0, *grey.size)
        if not box.is_empty:
            counts = grey.crop(tuple(box.irect)).histogram()
            shades = [shade for shade, count in enumerate(counts) if count]
            if shades[-1] - shades[0] < _CONTRAST:
                yield span
