"""OCR as a literal implementation of the Document Store's spec.

    python -m bench.literal_ocr FOLDER

A page is rendered at 300 dpi. `pytesseract.image_to_string` gives its text and
`pytesseract.image_to_data` the confidence. Image files are read unchanged. Pages are read one
after the other, with Tesseract's default threads. `peer.py` defines the request protocol.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pymupdf
import pytesseract  # type: ignore[import-not-found,import-untyped,unused-ignore]
from PIL import Image
from pytesseract import Output

from bench.peer import serve

DPI = 300


class LiteralOcr:
    def __init__(self, _store: Path) -> None:
        """Nothing is stored."""

    def read(self, pages: Sequence[tuple[str, int]]) -> dict[str, Any]:
        """Read texts and confidences of pages; a page is a file and a 1-based number."""
        return {"pages": [read_page(Path(path), number) for path, number in pages]}

    def read_single(self, pages: Sequence[tuple[str, int]]) -> dict[str, Any]:
        """Read pages with Tesseract limited to one thread."""
        os.environ["OMP_THREAD_LIMIT"] = "1"
        try:
            return self.read(pages)
        finally:
            del os.environ["OMP_THREAD_LIMIT"]


def read_page(path: Path, number: int) -> dict[str, Any]:
    image = render(path, number) if path.suffix == ".pdf" else Image.open(path)
    text = pytesseract.image_to_string(image)
    table = pytesseract.image_to_data(image, output_type=Output.DICT)
    sure = [float(value) for value in table["conf"] if float(value) >= 0]
    return {"text": text, "confidence": fmean(sure) if sure else None}


def render(path: Path, number: int) -> Image.Image:
    with pymupdf.open(path) as document:
        pixels = document[number - 1].get_pixmap(dpi=DPI)
        return Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples)


if __name__ == "__main__":
    serve(LiteralOcr, ("pytesseract", "pillow", "pymupdf"))
