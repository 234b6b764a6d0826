"""Passages of PDF pages: exactly their ink is marked, whatever the page looks like."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from quinion.evidence.marks import is_passage, mark
from quinion.extract.document import Options, survey
from quinion.extract.page_image import Marks, render_page
from quinion.extract.pdf.mupdf import pymupdf
from quinion.model.page import PageSpan, PageWords, decode_words, without_spaces, words_of_text

RED = (1.0, 0.0, 0.0)
BLUE = (0.0, 0.0, 1.0)
RED_INK, BLUE_INK = (255, 0, 0), (0, 0, 255)
ENOUGH = 200
"""Pixels of ink of each colour, so that a test cannot pass on an empty page."""
NEAR = 4
"""Pixels from ink to the white paper beside it: the edge of a letter is neither."""
Mask = NDArray[np.bool_]
LEFT = [f"The left column has a line {number} of its own." for number in range(12)]
RIGHT = [f"The right column goes on with line {number}." for number in range(12)]
LINE_HEIGHT = 20


def words_of(path: Path) -> PageWords:
    [page] = survey(path, 1, 1, Options(ocr=False))
    words = decode_words(words_of_text(page.words))
    assert words is not None
    return words


def check_ink(path: Path, words: PageWords, *parts: str) -> None:
    """Mark these parts, which are red on a page of blue text, and compare the pixels."""
    spans = []
    for part in map(without_spaces, parts):
        assert words.text.count(part) == 1
        start = words.text.index(part)
        spans.append(PageSpan(1, start, start + len(part)))
    assert is_passage("".join(parts), spans, {1: words})
    region = mark(1, words, spans)
    bare, marked = (
        np.asarray(Image.open(io.BytesIO(picture)).convert("RGB"))
        for picture in (render_page(path, 1), render_page(path, 1, marks=Marks(region.boxes)))
    )
    red, blue = ((bare == np.array(colour)).all(axis=2) for colour in (RED_INK, BLUE_INK))
    assert red.sum() > ENOUGH
    assert blue.sum() > ENOUGH
    # A mark takes most of the blue from ink and paper: blue ink stays as it is only outside.
    assert (marked[blue] == BLUE_INK).all()
    # Red ink stays red under a mark, so the paper around it tells.
    paper = (bare == 255).all(axis=2) & grow(red)
    assert (marked[paper, 2] < 255).mean() > 0.99


def grow(mask: Mask) -> Mask:
    """Add the pixels beside those of a mask, in its rows."""
    wide = mask.copy()
    for by in range(1, NEAR + 1):
        wide[:, by:] |= mask[:, :-by]
        wide[:, :-by] |= mask[:, by:]
    return wide


def new_page(rotation: int = 0, **size: Any) -> pymupdf.Page:
    page = pymupdf.open().new_page(**size)
    page.set_rotation(rotation)
    return page


def save(page: pymupdf.Page, path: Path) -> Path:
    page.parent.save(path)
    return path


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_two_columns_are_marked_from_the_end_of_one_to_the_start_of_the_next(
    tmp_path: Path, rotation: int
) -> None:
    page = new_page(rotation)
    for x, lines, chosen in ((50, LEFT, range(9, 12)), (310, RIGHT, range(3))):
        for number, line in enumerate(lines):
            place = (x, 100 + LINE_HEIGHT * number)
            page.insert_text(place, line, color=RED if number in chosen else BLUE)
    path = save(page, tmp_path / "columns.pdf")
    check_ink(path, words_of(path), "".join(LEFT[9:] + RIGHT[:3]))


def test_cells_of_a_table_are_marked_without_the_cells_between_them(tmp_path: Path) -> None:
    page = new_page()
    # Written column by column, so that a passage of two columns has gaps in which others stand.
    for column, x in enumerate((60, 320, 190)):
        for row in range(6):
            colour = BLUE if column == 2 else RED
            page.insert_text((x, 100 + LINE_HEIGHT * row), f"cell {column}{row}", color=colour)
            page.draw_rect((x - 5, 85 + LINE_HEIGHT * row, x + 125, 105 + LINE_HEIGHT * row))
    path = save(page, tmp_path / "table.pdf")
    words = words_of(path)
    cells = [f"cell{column}{row}" for column in (0, 1) for row in range(6)]
    check_ink(path, words, *sorted(cells, key=words.text.index))


def test_a_passage_starts_and_ends_in_the_middle_of_a_line(tmp_path: Path) -> None:
    page = new_page()
    page.insert_htmlbox(
        (50, 50, 545, 300),
        "<style>p {color: blue; font-size: 16px; line-height: 2} span {color: #f00}</style>"
        "<p>An ef\ufb01cient be\u00adginning of the page, which goes on until here, "
        "<span>where the \ufb01rst word of the passage is; it is long enough for three lines of "
        "the page, has a hyphen-ated word, a soft hy\u00adphen and \u201cquotation marks\u201d"
        "</span> and ends in the middle of a line as well, where blue words follow it.</p>",
    )
    path = save(page, tmp_path / "middle.pdf")
    words = words_of(path)
    start, end = words.text.index("wherethe"), words.text.index("andends")
    check_ink(path, words, words.text[start:end])


def test_text_from_right_to_left_is_marked_where_it_is_seen(tmp_path: Path) -> None:
    page = new_page()
    page.insert_htmlbox(
        (50, 50, 545, 300),
        "<style>p {color: blue; font-size: 16px; line-height: 2} span {color: #f00}</style>"
        "<p dir=rtl>שלום עולם גדול</p><p dir=rtl><span>ספר חדש על השולחן</span></p>"
        "<p>English follows.</p>",
    )
    path = save(page, tmp_path / "rtl.pdf")
    words = words_of(path)
    lines = [index for index, flags in enumerate(words.flags) if flags & 1] + [len(words)]
    start, end = words.offsets[lines[1]], words.offsets[lines[2]]
    check_ink(path, words, words.text[start:end])
