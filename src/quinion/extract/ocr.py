"""Pixels → words, with a second try for pages that stand on their head."""

from quinion.extract import tesseract
from quinion.extract.prose import DOUBTFUL
from quinion.extract.raster import Raster
from quinion.extract.tesseract import Reading


def read_upright(raster: Raster, timeout_s: float) -> tuple[Reading, Raster]:
    """The better of two readings, and the picture as it was read.

    The second is made only where the first is doubtful. Tesseract turns pages by itself when
    their lines run up or down, but always to the same side. So a page that came with any
    quarter turn reads well either as it is or upside down, and its orientation need not be
    asked for, which would cost half a reading and be wrong on receipts.

    Raises:
        ToolMissing: Tesseract is not installed.
        TimeoutError: one of the runs was not done in time.
        ExtractionFailed: Tesseract failed.
    """
    reading = tesseract.read(raster, timeout_s)
    if not is_doubtful(reading):
        return reading, raster
    turned = raster.turn_upside_down()
    second = tesseract.read(turned, timeout_s)
    if len(second.sure_text) > len(reading.sure_text):
        return second, turned
    return reading, raster


def is_doubtful(reading: Reading) -> bool:
    """Whether nothing was read, or nothing to rely on."""
    return reading.confidence is None or reading.confidence < DOUBTFUL
