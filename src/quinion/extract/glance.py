"""A quick look at a page: is it there to be read, or to be looked at?"""

from quinion.extract import tesseract
from quinion.extract.prose import has_running_text
from quinion.extract.raster import Raster
from quinion.extract.verdict import PageKind

# Enough for the words of a page in common type sizes, at a quarter of the cost of 300 dpi.
DPI = 150
MAX_PIXELS = 4_500_000
TIMEOUT_S = 30.0


def glance(raster: Raster) -> PageKind:
    """Text, picture or blank, from one OCR run at low resolution.

    Raises:
        ToolMissing: Tesseract is not installed.
        ExtractionFailed: Tesseract failed.
    """
    try:
        reading = tesseract.read(raster.shrink(MAX_PIXELS), TIMEOUT_S)
    except tesseract.TimedOut:
        # Text of one page never takes so long; textures and hatching do.
        return PageKind.PICTURE
    if has_running_text(reading.sure_text):
        return PageKind.TEXT
    return PageKind.PICTURE
