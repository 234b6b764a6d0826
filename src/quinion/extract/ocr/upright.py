"""Pixels → words, with a second try for pages that stand on their head."""

from time import monotonic

from quinion.extract.ocr import tesseract
from quinion.extract.ocr.raster import Raster
from quinion.extract.ocr.tesseract import OcrResult
from quinion.extract.scans.text_heuristics import MIN_MEAN_CONFIDENCE

_MIN_TIMEOUT_S = 1.0


def read_upright(raster: Raster, timeout_s: float) -> tuple[OcrResult, Raster]:
    """The better of two readings, made within this time, and the picture as it was read.

    The second is made only where the first is doubtful. Tesseract turns pages by itself when
    their lines run up or down, but always to the same side. So a page that came with any
    quarter turn reads well either as it is or upside down, and its orientation need not be
    asked for, which would cost half a result and be wrong on receipts.

    Raises:
        ToolMissing: Tesseract is not installed.
        TimeoutError: the first was not done in time.
        ExtractionFailed: Tesseract failed.
    """
    deadline = monotonic() + timeout_s
    result = tesseract.read(raster, timeout_s)
    if not is_unreliable(result):
        return result, raster
    try:
        second = tesseract.read(
            raster, max(_MIN_TIMEOUT_S, deadline - monotonic()), upside_down=True
        )
    except TimeoutError:
        return result, raster
    if len(second.confident_text) > len(result.confident_text):
        return second, raster.turn_upside_down()
    return result, raster


def is_unreliable(result: OcrResult) -> bool:
    """Whether nothing was read, or nothing to rely on."""
    return result.confidence is None or result.confidence < MIN_MEAN_CONFIDENCE
