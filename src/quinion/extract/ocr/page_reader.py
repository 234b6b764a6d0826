"""Read the words of a page with the engines that `OCR_ENGINE` selects.

`auto` reads with Tesseract, and pages that it is unsure of again with the second engine, if the
package `rapidocr` is installed and reads all the languages.
"""

from time import monotonic

from quinion.errors import ToolMissing
from quinion.extract.ocr import rapidocr_process, tesseract
from quinion.extract.ocr.languages import AUTO, DEFAULT, are_readable_by_rapidocr
from quinion.extract.ocr.raster import Raster
from quinion.extract.ocr.second_reading import combine, is_doubtful, number_words
from quinion.extract.ocr.words import Engine, OcrResult
from quinion.extract.scans.text_heuristics import MIN_MEAN_CONFIDENCE
from quinion.model.page import Word, without_spaces

_MIN_TIMEOUT_S = 1.0
# A second reading takes 1 to 8 s; with less time left it is not begun.
_MIN_SECOND_S = 3.0

_engine: str = AUTO
_languages = DEFAULT


def use(languages: str, engine: str = AUTO) -> None:
    """Set the languages and the engine of all later runs of this process."""
    global _engine, _languages
    _engine, _languages = engine, languages
    tesseract.use_languages(languages)


def read(raster: Raster, timeout_s: float, *, upside_down: bool = False) -> OcrResult:
    """Read a raster in one run: with Tesseract, unless the other engine is set.

    Raises:
        ToolMissing: the engine is not installed.
        TimeoutError: the engine did not finish within the timeout.
        ExtractionFailed: Tesseract failed.
    """
    if _engine != Engine.RAPIDOCR:
        return tesseract.read(raster, timeout_s, upside_down=upside_down)
    lines = rapidocr_process.read(raster, timeout_s, upside_down=upside_down)
    if lines is None:
        raise ToolMissing(
            "OCR needs the package rapidocr, which is not installed or does not work. Install it "
            "(pip install 'rapidocr>=3.10,<3.11'), or set OCR_ENGINE=tesseract."
        )
    image = (raster.turn_upside_down() if upside_down else raster).image
    return OcrResult(tuple(number_words(lines, image)), Engine.RAPIDOCR)


def read_upright(raster: Raster, timeout_s: float) -> tuple[OcrResult, Raster]:
    """Return the better of up to two runs within the timeout, and the raster it is for.

    The second run is made only if the first is unreliable. Tesseract itself rotates pages whose
    lines run up or down, but always to the same side. So a page in any of the four orientations
    reads well either as it is or upside down. Tesseract's orientation detection is not needed; it
    costs half a run and is wrong on receipts.

    Raises:
        ToolMissing: the engine is not installed.
        TimeoutError: the first run did not finish within the timeout.
        ExtractionFailed: Tesseract failed.
    """
    deadline = monotonic() + timeout_s
    result = read(raster, timeout_s)
    if not is_unreliable(result):
        return result, raster
    try:
        second = read(raster, max(_MIN_TIMEOUT_S, deadline - monotonic()), upside_down=True)
    except TimeoutError:
        return result, raster
    if len(second.confident_text) > len(result.confident_text):
        return second, raster.turn_upside_down()
    return result, raster


def read_page(raster: Raster, timeout_s: float) -> tuple[OcrResult, Raster]:
    """Read a page as `read_upright`, and again with the second engine if that is doubtful.

    Raises:
        ToolMissing, TimeoutError, ExtractionFailed: see `read_upright`.
    """
    deadline = monotonic() + timeout_s
    result, upright = read_upright(raster, timeout_s)
    left_s = deadline - monotonic()
    if left_s < _MIN_SECOND_S or not _has_second() or not is_doubtful(result, upright):
        return result, upright
    try:
        lines = rapidocr_process.read(upright, left_s)
    except TimeoutError:
        return result, upright
    return (combine(result, lines, upright.image), upright) if lines else (result, upright)


def place_words(result: OcrResult, raster: Raster, *, upside_down: bool) -> list[Word]:
    """Return the words with their boxes as fractions of the page as it was rasterized.

    `raster` is the one that was read, which is the page rotated by 180 degrees if `upside_down`.
    """
    width, height = raster.image.size
    words: list[Word] = []
    line = None
    for word in result.words:
        left, top, right, bottom = word.box
        if upside_down:
            left, top, right, bottom = width - right, height - bottom, width - left, height - top
        box = left / width, top / height, right / width, bottom / height
        text = without_spaces(word.text)
        words.append(Word(text, box, starts_line=word.line != line))
        line = word.line
    return words


def is_unreliable(result: OcrResult) -> bool:
    """Whether the result is empty or has a low mean confidence."""
    return result.confidence is None or result.confidence < MIN_MEAN_CONFIDENCE


def _has_second() -> bool:
    return (
        _engine == AUTO and are_readable_by_rapidocr(_languages) and rapidocr_process.is_installed()
    )
