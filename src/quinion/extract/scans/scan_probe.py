"""Classify a rasterized page as text, picture or blank by a quick OCR run.

The thresholds were tuned on labelled pages. `docs/extraction.md` has the results, and
`bench/scans.py` reproduces them.
"""

from quinion.extract.ocr.page_reader import is_unreliable, read_upright
from quinion.extract.ocr.raster import Raster
from quinion.extract.scans.ink_ratio import BLANK_INK, ink_ratio, word_ink_ratio
from quinion.extract.scans.scan_decision import PageKind
from quinion.extract.scans.text_heuristics import has_lines

# 100 dpi is a quarter cheaper but misses small print. At 200 dpi labels begin to look like text.
DPI = 150
# An A3 page at that resolution.
MAX_PIXELS = 4_500_000
# Ten times the slowest page measured, a map of 500 words.
TIMEOUT_S = 25.0

# Receipts, forms and tables have short lines, but their words are half of the ink or more. In the
# pictures measured they are less than a third.
INK_SHARE = 0.4
INK_WORDS = 5


def classify(raster: Raster) -> PageKind:
    """Classify a page by an OCR run at low resolution (`DPI`, `MAX_PIXELS`).

    Raises:
        ToolMissing: Tesseract is not installed.
        ExtractionFailed: Tesseract failed.
    """
    if ink_ratio(raster.image) < BLANK_INK:
        return PageKind.BLANK
    try:
        result, upright = read_upright(raster, TIMEOUT_S)
    except TimeoutError:
        # OCR of text takes seconds, even on a busy machine. Hatching and foliage may take minutes.
        return PageKind.PICTURE
    if is_unreliable(result):
        return PageKind.PICTURE
    boxes = [word.box for word in result.confident_words]
    is_mostly_words = len(boxes) >= INK_WORDS and word_ink_ratio(upright.image, boxes) >= INK_SHARE
    return (
        PageKind.TEXT if is_mostly_words or has_lines(result.confident_text) else PageKind.PICTURE
    )
