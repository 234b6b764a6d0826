"""Pixels → text, with a second try for pages that lie on their side or upside down."""

from quinion.extract import tesseract
from quinion.extract.raster import Raster
from quinion.extract.tesseract import Reading

TIMEOUT_S = 180.0
# Under this mean confidence a page is turned, in another language, or no text at all.
DOUBTFUL = 60.0


def read_raster(raster: Raster) -> Reading:
    """The best reading of a page.

    Raises:
        ToolMissing: Tesseract is not installed.
        ExtractionFailed: Tesseract failed or took too long.
    """
    reading = tesseract.read(raster, TIMEOUT_S)
    if reading.confidence is not None and reading.confidence >= DOUBTFUL:
        return reading
    rotation = tesseract.find_rotation(raster, TIMEOUT_S)
    if not rotation:
        return reading
    return max(reading, tesseract.read(raster.turn(rotation), TIMEOUT_S), key=_sure_letters)


def _sure_letters(reading: Reading) -> int:
    return len(reading.sure_text)
