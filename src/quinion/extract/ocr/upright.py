"""OCR with a second run for pages that are upside down."""

from time import monotonic

from quinion.extract.ocr import tesseract
from quinion.extract.ocr.raster import Raster
from quinion.extract.ocr.tesseract import OcrResult
from quinion.extract.scans.text_heuristics import MIN_MEAN_CONFIDENCE

_MIN_TIMEOUT_S = 1.0


def read_upright(raster: Raster, timeout_s: float) -> tuple[OcrResult, Raster]:
    """Return the better of up to two OCR results within the timeout, and the raster it is for.

    The second run is made only if the first is unreliable. Tesseract itself rotates pages whose
    lines run up or down, but always to the same side. So a page in any of the four orientations
    reads well either as it is or upside down. Tesseract's orientation detection is not needed; it
    costs half a run and is wrong on receipts.

    Raises:
        ToolMissing: Tesseract is not installed.
        TimeoutError: the first run did not finish within the timeout.
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
    """Whether the result is empty or has a low mean confidence."""
    return result.confidence is None or result.confidence < MIN_MEAN_CONFIDENCE
