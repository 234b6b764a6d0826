"""Words of a page with their boxes, found without the functions that find them for the marks."""

import io
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean

from PIL import Image

from quinion.extract.page_image import PictureLimits, render_page
from quinion.extract.pdf.mupdf import pymupdf
from quinion.model.page import Box

Printed = Sequence[tuple[str, Box]]
"""Words, each with its box as fractions of the displayed page."""
BETWEEN = re.compile(r"[\s\x00-\x1f\x7f-\x9f\xad]+")
DPI = 300
SHARP = PictureLimits(dpi=DPI, max_side=10_000, max_bytes=1 << 30)
UPRIGHT = 70.0
"""Below this mean confidence, the image is also read upside down."""


def split_words(text: str) -> list[str]:
    """Split at white space and control characters, which the readers treat differently."""
    return [word for word in BETWEEN.split(text) if word]


def read_layer(path: Path, number: int) -> Printed:
    """Read the words of a text layer."""
    with pymupdf.open(path) as document:
        page = document[number - 1]
        width, height = page.rect.width, page.rect.height
        words = []
        for *corners, word, _, _, _ in page.get_text("words"):
            shown = pymupdf.Rect(corners) * page.rotation_matrix
            box = shown.x0 / width, shown.y0 / height, shown.x1 / width, shown.y1 / height
            words.append((word, box))
        return words


def read_shown(path: Path, number: int) -> Printed:
    """Read the image of a page that is shown to people, with the program `tesseract`."""
    png = render_page(path, number, limits=SHARP)
    with Image.open(io.BytesIO(png)) as image:
        size = image.size
        words, confidence = run_tesseract(png, size)
        if confidence >= UPRIGHT:
            return words
        turned = io.BytesIO()
        image.transpose(Image.Transpose.ROTATE_180).save(turned, "PNG", compress_level=1)
    others, other_confidence = run_tesseract(turned.getvalue(), size)
    if other_confidence <= confidence:
        return words
    return [
        (text, (1 - right, 1 - bottom, 1 - left, 1 - top))
        for text, (left, top, right, bottom) in others
    ]


def run_tesseract(png: bytes, size: tuple[int, int]) -> tuple[Printed, float]:
    """Return the words, and their mean confidence."""
    command = ["tesseract", "stdin", "stdout", "-l", "eng", "--dpi", str(DPI), "tsv"]
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    done = subprocess.run(command, input=png, capture_output=True, check=True, env=environment)
    found = list(parse_table(done.stdout.decode(), size))
    confidence = mean(one for *_, one in found) if found else 0.0
    return [(text, box) for text, box, _ in found], confidence


def parse_table(table: str, size: tuple[int, int]) -> Iterator[tuple[str, Box, float]]:
    width, height = size
    names, *rows = (row.split("\t") for row in table.splitlines())
    for row in rows:
        cell = dict(zip(names, row, strict=False))
        if cell.get("text", "").strip():
            left, top = int(cell["left"]), int(cell["top"])
            right, bottom = left + int(cell["width"]), top + int(cell["height"])
            box = left / width, top / height, right / width, bottom / height
            yield cell["text"], box, float(cell["conf"])
