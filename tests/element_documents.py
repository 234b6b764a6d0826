"""Generated test pages with figures, tables and equations.

A `Paper` is a PDF that is written from top to bottom, with content at positions set by the test.
"""

import io
from pathlib import Path
from types import TracebackType

from PIL import Image

from quinion.extract.pdf.mupdf import pymupdf
from quinion.model.element import Box
from tests.documents import picture_of_lines

WIDTH, HEIGHT = 595, 842
LEFT, RIGHT = 70, 525
SIZE = 10
LEADING = 12

SENTENCES = (
    "The survey covered nine streets and the yards behind them over two summers. Every house "
    "was measured from the pavement and again from the lane, and where the two did not agree "
    "a third visit was made. Owners were asked about damp, heating and the age of the roof. "
    "Most answered at once, some by letter, and a few not at all, so that the numbers given "
    "below are for the houses that were seen from inside. "
)

CELLS = (
    ("Street", "Houses", "Damp", "Heated"),
    ("Mill Lane", "24", "11", "19"),
    ("Bridge Street", "31", "7", "30"),
    ("Church Row", "12", "9", "4"),
    ("Station Road", "45", "16", "41"),
    ("Total", "112", "43", "94"),
)


class Paper:
    """PDF under construction."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._document = pymupdf.open()
        self.page = self.turn()

    def __enter__(self) -> "Paper":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._document.save(self._path)
        self._document.close()

    def tell(self, **data: str) -> None:
        """Set metadata of the file, such as `title` and `keywords`."""
        self._document.set_metadata(data)

    def turn(self) -> pymupdf.Page:
        """Start a new page."""
        self.page = self._document.new_page(width=WIDTH, height=HEIGHT)
        return self.page

    def write(self, x: float, y: float, text: str, *, bold: bool = False, font: str = "") -> None:
        """Write a line with its baseline at y."""
        name = font or ("tibo" if bold else "tiro")
        self.page.insert_text((x, y), text, fontname=name, fontsize=SIZE)

    def prose(self, top: float, lines: int, left: float = LEFT, right: float = RIGHT) -> float:
        """Write lines of running text; return the y below them."""
        words = iter((SENTENCES * (2 + lines // 4)).split())
        row, y = "", top + SIZE
        for _ in range(lines):
            for word in words:
                if pymupdf.get_text_length(f"{row} {word}", "tiro", SIZE) > right - left:
                    self.write(left, y, row)
                    row = word
                    break
                row = f"{row} {word}".strip()
            y += LEADING
        return y

    def drawing(self, box: Box) -> Box:
        """Draw a floor plan: an outline and walls."""
        shape = self.page.new_shape()
        shape.draw_rect(pymupdf.Rect(box.x0, box.y0, box.x1, box.y1))
        for part in (0.25, 0.5, 0.8):
            x, y = box.x0 + part * box.width, box.y0 + part * box.height
            shape.draw_line((x, box.y0), (x, box.y0 + 0.7 * box.height))
            shape.draw_line((box.x0, y), (box.x0 + 0.6 * box.width, y))
        shape.finish(width=1.2)
        shape.commit()
        return box

    def picture(self, box: Box) -> Box:
        """Place an image."""
        stream = io.BytesIO()
        picture_of_lines().save(stream, "PNG")
        rect = pymupdf.Rect(box.x0, box.y0, box.x1, box.y1)
        self.page.insert_image(rect, stream=stream.getvalue(), keep_proportion=False)
        return box

    def table(self, top: float, left: float = LEFT, right: float = RIGHT) -> Box:
        """Draw the table `CELLS` with all rules."""
        height, width = 18.0, (right - left) / len(CELLS[0])
        box = Box(left, top, right, top + height * len(CELLS))
        shape = self.page.new_shape()
        for y in range(len(CELLS) + 1):
            shape.draw_line((left, top + y * height), (right, top + y * height))
        for x in range(len(CELLS[0]) + 1):
            shape.draw_line((left + x * width, box.y0), (left + x * width, box.y1))
        shape.finish(width=0.6)
        shape.commit()
        for y, row in enumerate(CELLS):
            for x, cell in enumerate(row):
                self.write(left + x * width + 4, top + y * height + 13, cell, bold=y == 0)
        return box

    def equation(self, y: float, formula: str, number: str) -> None:
        """Write a centred formula with its number at the right."""
        self.page.insert_text((220, y), formula, fontname="tiit", fontsize=SIZE + 1)
        width = pymupdf.get_text_length(number, "tiro", SIZE)
        self.write(RIGHT - width, y, number)


def scan_of(source: Path, path: Path, dpi: int = 200) -> Path:
    """Convert the pages to images without a text layer."""
    with pymupdf.open(source) as document, pymupdf.open() as scan:
        for page in document:
            pixels = page.get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY)
            image = Image.frombytes("L", (pixels.width, pixels.height), pixels.samples)
            stream = io.BytesIO()
            image.save(stream, "PNG")
            copy = scan.new_page(width=page.rect.width, height=page.rect.height)
            copy.insert_image(copy.rect, stream=stream.getvalue())
        scan.save(path)
    return path


def turned(source: Path, path: Path, degrees: int) -> Path:
    """Rotate the pages."""
    with pymupdf.open(source) as document:
        for page in document:
            page.set_rotation(degrees)
        document.save(path)
    return path
