"""A quick look at a page of pixels: is it there to be read, or to be looked at?

The limits were set on labelled pages; docs/extraction.md has the table, and bench/scans.py
makes it again.
"""

from quinion.extract.ocr.raster import Raster
from quinion.extract.ocr.upright import is_unreliable, read_upright
from quinion.extract.scans.ink import ink_ratio, word_ink_ratio
from quinion.extract.scans.scan_decision import PageKind
from quinion.extract.scans.text_heuristics import has_lines

# 100 dpi is a quarter cheaper and misses small print; at 200 dpi labels begin to look like text.
DPI = 150
# An A3 page at that resolution.
MAX_PIXELS = 4_500_000
# Ten times what the slowest page took that we measured, a map of 500 words.
TIMEOUT_S = 25.0

# Receipts, forms and tables have short lines, but their words are half of the ink or more;
# in the pictures that we measured they are less than a third.
INK_SHARE = 0.4
INK_WORDS = 5
# Paper has specks; with less ink than this a page is empty.
BLANK_INK = 0.001


def classify(raster: Raster) -> PageKind:
    """Text, picture or blank, from an OCR run on few pixels (`DPI`, `MAX_PIXELS`).

    Raises:
        ToolMissing: Tesseract is not installed.
        ExtractionFailed: Tesseract failed.
    """
    if ink_ratio(raster.image) < BLANK_INK:
        return PageKind.BLANK
    try:
        result, upright = read_upright(raster, TIMEOUT_S)
    except TimeoutError:
        # Text is read in seconds, even on a busy machine; hatching and foliage may take for ever.
        return PageKind.PICTURE
    if is_unreliable(result):
        return PageKind.PICTURE
    boxes = [word.box for word in result.confident_words]
    is_mostly_words = len(boxes) >= INK_WORDS and word_ink_ratio(upright.image, boxes) >= INK_SHARE
    return (
        PageKind.TEXT if is_mostly_words or has_lines(result.confident_text) else PageKind.PICTURE
    )
