"""Generated test documents with exactly known text on each page.

A PDF is a list of pages, each of one of the kinds below; `make_pdf` writes them in order.
Pages are only as large as their content, so that OCR of a page takes a fraction of a second.
"""

import io
import random
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter

from quinion.extract.pdf.mupdf import pymupdf

FONT_SIZE = 8
LINE_HEIGHT = 11
MARGIN = 20
POINTS_PER_INCH = 72

# PyMuPDF defines these at run time, invisible to the type checker.
AES_256 = 5
READING_ALONE = 1 << 9

PROSE = (
    "The development provides two hundred covered cycle parking spaces,\n"
    "close to the main entrance, lit at night and overlooked by offices.\n"
    "Visitors find ten more stands beside the gate of the northern yard.\n"
    "Each stand holds two bicycles and is bolted to a concrete footing."
)
"""Enough words on lines to count as running text; Tesseract reads them without errors."""


@dataclass(frozen=True, slots=True)
class Text:
    """A page with a text layer: exactly these lines."""

    text: str


@dataclass(frozen=True, slots=True)
class Scan:
    """A page with an image of text, and `layer` as its only text layer.

    `cover` is the share of the page that the image covers. Above the threshold, the server has to
    determine whether the document is a scan or a picture.
    """

    text: str
    cover: float = 0.5
    layer: str = ""
    dpi: int = 200
    blur: float = 0.0


@dataclass(frozen=True, slots=True)
class Drawing:
    """A page covered by an image of lines."""

    seed: int = 1


@dataclass(frozen=True, slots=True)
class Blank:
    """An empty page."""


AnyPage = Text | Scan | Drawing | Blank


def make_pdf(path: Path, pages: Sequence[AnyPage]) -> Path:
    """Write a PDF of these pages."""
    with pymupdf.open() as document:
        for page in pages:
            _add_page(document, page)
        document.save(path)
    return path


def text_pdf(path: Path, *pages: str, title: str = "") -> Path:
    """Write a PDF with a text layer from the texts of its pages, and optionally a title."""
    make_pdf(path, [Text(page) for page in pages])
    if title:
        with pymupdf.open(path) as document:
            document.set_metadata({"title": title})
            document.saveIncr()
    return path


def hide_text(path: Path, number: int, text: str) -> Path:
    """Add invisible text to a page (1-based) of a PDF: white on white."""
    with pymupdf.open(path) as document:
        page = document[number - 1]
        page.insert_text((MARGIN, MARGIN), text, fontsize=FONT_SIZE, color=(1, 1, 1))
        document.saveIncr()
    return path


def page_text(text: str) -> str:
    """Return the text extracted from a text page: each line ends in a line break."""
    return text.rstrip("\n") + "\n"


def locked_pdf(path: Path, text: str = PROSE, *, to_open: bool = True) -> Path:
    """Write a PDF with a password: to open it, or only to print or change it."""
    with pymupdf.open() as document:
        _add_page(document, Text(text))
        document.save(
            path,
            encryption=AES_256,
            owner_pw="owner",
            user_pw="secret" if to_open else "",
            permissions=READING_ALONE,
        )
    return path


def truncated_pdf(path: Path) -> Path:
    """Write the first bytes of a PDF, like an interrupted download."""
    whole = make_pdf(path, [Text(PROSE)] * 3).read_bytes()
    path.write_bytes(whole[:120])
    return path


def text_image(path: Path, *frames: str) -> Path:
    """Write an image file of text, in the format of its extension; a TIFF may have many frames."""
    first, *others = [picture_of(text) for text in frames or (PROSE,)]
    if others:
        first.save(path, save_all=True, append_images=others)
    else:
        first.save(path)
    return path


def photo(path: Path) -> Path:
    """Write an image file without words: a sky over hills."""
    image = Image.linear_gradient("L").resize((600, 400)).convert("RGB")
    draw = ImageDraw.Draw(image)
    draw.ellipse((60, 40, 140, 120), fill=(250, 220, 120))
    draw.polygon([(0, 400), (200, 180), (420, 400)], fill=(60, 90, 60))
    draw.polygon([(250, 400), (460, 140), (600, 400)], fill=(40, 70, 50))
    image.save(path)
    return path


def huge_png(path: Path, side: int = 60_000) -> Path:
    """Write a few hundred bytes that declare an image of `side` by `side` pixels."""
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(side + 1))), (b"IEND", b""))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(_png_chunk(*chunk) for chunk in chunks))
    return path


def picture_of(text: str, dpi: int = 200) -> Image.Image:
    """Render the text as an image."""
    with pymupdf.open() as document:
        pixels = _add_page(document, Text(text)).get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY)
        image = Image.frombytes("L", (pixels.width, pixels.height), pixels.samples)
    image.info["dpi"] = (dpi, dpi)
    return image


def picture_of_lines(seed: int = 1) -> Image.Image:
    """Draw walls, without anything that resembles a word."""
    image = Image.new("L", (900, 640), "white")
    draw = ImageDraw.Draw(image)
    places = random.Random(seed)
    draw.rectangle((40, 40, 860, 600), outline="black", width=6)
    for _ in range(5):
        x = places.randrange(60, 840)
        draw.line((x, 40, x, places.randrange(200, 600)), fill="black", width=4)
        y = places.randrange(60, 580)
        draw.line((40, y, places.randrange(300, 860), y), fill="black", width=4)
    return image


def _add_page(document: pymupdf.Document, page: AnyPage) -> pymupdf.Page:
    match page:
        case Text(text):
            return _add_text(document, text)
        case Scan(text, cover, layer, dpi, blur):
            image = picture_of(text, dpi).filter(ImageFilter.GaussianBlur(blur))
            added = _add_image(document, image, dpi, cover)
            added.insert_text((1, LINE_HEIGHT), layer, fontsize=FONT_SIZE)
            return added
        case Drawing(seed):
            return _add_image(document, picture_of_lines(seed), 150, 1.0)
        case Blank():
            return document.new_page(width=200, height=200)


def _add_text(document: pymupdf.Document, text: str) -> pymupdf.Page:
    lines = text.splitlines()
    width = max(pymupdf.get_text_length(line, fontsize=FONT_SIZE) for line in lines)
    page = document.new_page(width=width + 2 * MARGIN, height=LINE_HEIGHT * len(lines) + 2 * MARGIN)
    for number, line in enumerate(lines, 1):
        page.insert_text((MARGIN, MARGIN + LINE_HEIGHT * number), line, fontsize=FONT_SIZE)
    return page


def _add_image(
    document: pymupdf.Document, image: Image.Image, dpi: int, cover: float
) -> pymupdf.Page:
    width, height = (side * POINTS_PER_INCH / dpi for side in image.size)
    page_height = height / cover
    page = document.new_page(width=width, height=page_height)
    stream = io.BytesIO()
    image.save(stream, "PNG")
    page.insert_image((0, page_height - height, width, page_height), stream=stream.getvalue())
    return page


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
