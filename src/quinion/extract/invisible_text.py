"""Text that nobody sees who looks at the page, but everybody gets who asks for its text.

It may be meant for a machine, to instruct it. So it is told of in the log, and counted, for its
page to be flagged where it is delivered. What OCR programs lay invisibly over a scan is not hidden:
the same words can be seen. Nor is white on a dark ground.

Limits: text outside of the page is not read at all, and so not looked for, and a page with more
text than any real one is not looked through. Text in any other colour than white on a ground of
that colour, and text behind a picture that was put over it, are not noticed.
"""
# PyMuPDF says that it has types, and leaves most of its functions without.
# mypy: allow-untyped-calls

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from PIL import Image

from quinion.extract.pdf.coverage import Box, cover_ratio
from quinion.extract.pdf.mupdf import DAMAGE, pymupdf

# Print smaller than this, in points, is a dot on any screen.
MIN_FONT_SIZE = 1.0
# Each colour of white, and the difference of shades from which on something can be seen.
_WHITE = 0xF0
_CONTRAST = 12
# Text that lies over pictures for this part belongs to them.
_MIN_PICTURE_COVER = 0.5
_MAX_SIDE = 1_500
MAX_CHECKED_CHARACTERS = 50_000
"""Characters; with more of them it would take longer than all else."""

# In HTML, all print but opaque black of two points or more. A colour that is transparent is told
# like any other, except that black is then left out.
_OTHER_PRINT = re.compile(r"font-size:(?!(?:[2-9]|[1-9]\d+)\.\dpt;color:#000000)")

_log = logging.getLogger(__name__)

Span = Mapping[str, Any]
Content = Mapping[str, Any]
"""What PyMuPDF says of a page's text: blocks, lines, spans."""


def may_have_hidden_text(html: str) -> bool:
    """Whether some of a page's text, as PyMuPDF gives it in HTML, is worth a closer look.

    It takes a third of the time of that, and is enough for more than half of all pages.
    """
    return _OTHER_PRINT.search(html) is not None


def count_hidden(page: pymupdf.Page, content: Content, name: str) -> int:
    """How many characters of a page of this file cannot be seen; if there are any, it is logged."""
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
    """The text of the page that cannot be seen."""
    spans = list(_find_candidates(content))
    invisible = [span for span in spans if span["alpha"] == 0]
    seen = [span for span in spans if span["alpha"]]
    pictures = _find_pictures(page) if invisible else []
    hidden = [
        *(span for span in invisible if cover_ratio(pictures, span["bbox"]) < _MIN_PICTURE_COVER),
        *(span for span in seen if _is_tiny(span)),
        *_find_low_contrast(page, [span for span in seen if _is_white(span["color"])]),
    ]
    return " ".join(" ".join(span["text"] for span in hidden).split())


def _find_candidates(content: Content) -> Iterator[Span]:
    """What may be hidden, by a look that costs little: on most pages there is nothing."""
    for block in content["blocks"]:
        for line in block.get("lines", ()):
            for span in line["spans"]:
                suspect = (
                    not span["alpha"] or span["size"] < MIN_FONT_SIZE or _is_white(span["color"])
                )
                if suspect and any(map(str.isalnum, span["text"])):
                    yield span


def _find_pictures(page: pymupdf.Page) -> list[Box]:
    content = page.get_textpage(flags=pymupdf.TEXT_PRESERVE_IMAGES)
    return [image["bbox"] for image in content.extractIMGINFO()]


def _is_tiny(span: Span) -> bool:
    # Fonts that are drawn may say anything of their size, but letters have a width.
    left, _, right, _ = span["bbox"]
    return bool(span["size"] < MIN_FONT_SIZE and right - left < MIN_FONT_SIZE * len(span["text"]))


def _is_white(colour: int) -> bool:
    return colour & 0xFF >= _WHITE and all(colour >> shift & 0xFF >= _WHITE for shift in (8, 16))


def _find_low_contrast(page: pymupdf.Page, spans: Sequence[Span]) -> Iterator[Span]:
    """Those that stand where the page, as it is drawn, has one shade."""
    if not spans:
        return
    zoom = min(1.0, _MAX_SIDE / max(page.rect.width, page.rect.height))
    matrix = pymupdf.Matrix(zoom, zoom)
    try:
        drawn = page.get_pixmap(matrix=matrix, colorspace=pymupdf.csGRAY, alpha=False)
    except DAMAGE:
        return  # it has text all the same
    grey = Image.frombytes("L", (drawn.width, drawn.height), drawn.samples_mv)
    for span in spans:
        box = pymupdf.Rect(span["bbox"]) * page.rotation_matrix * matrix & (0, 0, *grey.size)
        if not box.is_empty:
            counts = grey.crop(tuple(box.irect)).histogram()
            shades = [shade for shade, count in enumerate(counts) if count]
            if shades[-1] - shades[0] < _CONTRAST:
                yield span
