"""Jobs on elements: find them and render formulas, with PyMuPDF's layout model.

The model is loaded for the first page that is analysed, so a process that only renders formulas
does not load it.
"""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from PIL import Image

# Imported first: `quinion.extract.pdf.mupdf` would block the layout model.
from quinion.elements import document
from quinion.elements.scanned_page import ScannedWord
from quinion.extract.ocr import page_reader
from quinion.extract.ocr.raster import Raster
from quinion.framing import Frame
from quinion.workers.jobs import Job

# Half of the usual timeout: a page on which OCR finds nothing in that time has no captions.
_TIMEOUT_S = 25.0


def read_words(image: Image.Image, dpi: int) -> Sequence[ScannedWord]:
    """Read the words on a rasterized page; none if OCR times out.

    Raises:
        ToolMissing: the OCR engine is not installed.
        ExtractionFailed: Tesseract failed.
    """
    try:
        result = page_reader.read(Raster(image, dpi), _TIMEOUT_S)
    except TimeoutError:
        return []
    return [ScannedWord(word.text, word.box, word.line, word.confidence) for word in result.words]


def _find_elements(path: str, first: int, last: int, ocr: bool) -> Iterator[Frame]:
    reader = read_words if ocr else None
    for page in document.find_elements(Path(path), first, last, reader):
        yield asdict(page)


def _render_formula(latex: str) -> Iterator[Frame]:
    # Imported here because it loads a font that most of these processes never need.
    from quinion.elements.formula import render_formula  # noqa: PLC0415

    yield {"png": b64encode(render_formula(latex)).decode()}


JOBS: dict[str, Job] = {
    "find_elements": _find_elements,
    "render_formula": _render_formula,
}
