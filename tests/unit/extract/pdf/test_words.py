"""Words with boxes: the same letters as the text, in its order, where they are on the page."""

from pathlib import Path
from typing import Any

import pytest

from quinion.extract.document import Options, read_pages, survey
from quinion.extract.pdf.lines import read_lined_pages
from quinion.extract.pdf.mupdf import pymupdf
from quinion.model.page import (
    HIDDEN,
    PageWords,
    decode_words,
    without_spaces,
    words_of_text,
)
from tests.documents import PROSE, Scan, make_pdf, picture_of

INVISIBLE = 3


def words_of(path: Path) -> PageWords:
    [page] = survey(path, 1, 1, Options(ocr=False))
    words = decode_words(words_of_text(page.words))
    assert words is not None
    assert words.text == without_spaces(page.text)
    return words


def box_of(words: PageWords, text: str) -> tuple[float, ...]:
    """The box of the word that begins here."""
    return words.boxes[list(words.offsets).index(words.text.index(text))]


def turned_box(box: tuple[float, ...], turn: int) -> tuple[float, ...]:
    """The box on a page that was turned counterclockwise."""
    left, top, right, bottom = box
    if turn == 90:
        return top, 1 - right, bottom, 1 - left
    if turn == 180:
        return 1 - right, 1 - bottom, 1 - left, 1 - top
    return 1 - bottom, left, 1 - top, right


def save(page: pymupdf.Page, path: Path) -> Path:
    page.parent.save(path)
    return path


def new_page(**size: Any) -> pymupdf.Page:
    return pymupdf.open().new_page(**size)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_a_word_lies_where_it_is_seen(tmp_path: Path, rotation: int) -> None:
    page = new_page(width=400, height=200)
    page.insert_text((100, 100), "alone", fontsize=20)
    page.set_rotation(rotation)
    left, top, right, bottom = box_of(words_of(save(page, tmp_path / "a.pdf")), "alone")
    # What is black on the rendered page is inside of the box, and only that.
    pixels = page.get_pixmap(dpi=144, colorspace=pymupdf.csGRAY)
    dark = [i for i, shade in enumerate(pixels.samples) if shade < 128]
    columns, rows = [i % pixels.width for i in dark], [i // pixels.width for i in dark]
    assert left * pixels.width <= min(columns) + 1
    assert right * pixels.width >= max(columns) - 1
    assert top * pixels.height <= min(rows) + 1
    assert bottom * pixels.height >= max(rows) - 1
    assert (right - left) * (bottom - top) < 0.06


def test_the_crop_box_is_the_page(tmp_path: Path) -> None:
    page = new_page(width=400, height=400)
    page.insert_text((210, 220), "inside", fontsize=20)
    page.set_cropbox(pymupdf.Rect(200, 200, 400, 300))
    left, top, _, bottom = box_of(words_of(save(page, tmp_path / "a.pdf")), "inside")
    assert left == pytest.approx(10 / 200, abs=0.01)
    assert top < 20 / 100 < bottom


def test_ligatures_hyphens_and_special_spaces_are_letters_of_the_text(tmp_path: Path) -> None:
    page = new_page()
    lines = [
        "ef\ufb01cient soft\u00adhyphen",
        "a\u00a0non-breaking\u2009thin space, devel-",
        "opment",
    ]
    page.insert_htmlbox((50, 50, 500, 300), "".join(f"<p>{line}</p>" for line in lines))
    words = words_of(save(page, tmp_path / "a.pdf"))
    assert "\ufb01" in words.text
    assert box_of(words, "opment")[1] > box_of(words, "devel-")[1]


def test_text_from_right_to_left_is_in_the_order_of_the_text(tmp_path: Path) -> None:
    page = new_page()
    page.insert_htmlbox((50, 50, 500, 200), "<p dir=rtl>שלום עולם גדול</p><p>and English</p>")
    words = words_of(save(page, tmp_path / "a.pdf"))
    assert len(words) == 5


def test_invisible_words_are_marked_and_others_are_not(tmp_path: Path) -> None:
    page = new_page()
    page.insert_text((72, 100), "The clerk shall")
    page.insert_text((72, 200), "approve it", render_mode=INVISIBLE)
    words = words_of(save(page, tmp_path / "a.pdf"))
    assert [bool(flags & HIDDEN) for flags in words.flags] == [False, False, False, True, True]


def test_lines_know_their_places_in_the_text(tmp_path: Path) -> None:
    page = new_page()
    page.insert_text((300, 100), "right cell")
    page.insert_text((72, 100), "left cell")
    page.insert_text((72, 130), "below both")
    path = save(page, tmp_path / "a.pdf")
    [lined] = read_lined_pages(path, 1, 1, Options(ocr=False))
    text = without_spaces(lined.page.text)
    assert lined.lines[0].text == "left cell right cell"
    for line in lined.lines:
        assert "".join(text[slice(*place)] for place in line.places) == without_spaces(line.text)
    assert words_of(path).text == text


def test_the_words_of_a_scan_lie_where_they_are_seen(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", [Scan(PROSE, cover=0.9)])
    [page] = read_pages(path, 1, 1, Options())
    words = decode_words(words_of_text(page.words))
    assert words is not None
    assert words.text == without_spaces(page.text) == without_spaces(PROSE)
    first, last = box_of(words, "The"), box_of(words, "footing.")
    assert first[1] < last[1]
    assert first[0] < last[0]


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_the_words_of_a_turned_scan_lie_where_they_are_seen(tmp_path: Path, turn: int) -> None:
    picture = picture_of(PROSE)
    upright, turned = tmp_path / "upright.png", tmp_path / "turned.png"
    picture.save(upright, dpi=(200, 200))
    picture.rotate(turn, expand=True).save(turned, dpi=(200, 200))
    [one] = read_pages(upright, 1, 1, Options())
    [other] = read_pages(turned, 1, 1, Options())
    assert without_spaces(other.text) == without_spaces(PROSE)
    before, after = (decode_words(words_of_text(page.words)) for page in (one, other))
    assert before is not None
    assert after is not None
    for word in ("development", "bicycles", "footing."):
        assert box_of(after, word) == pytest.approx(
            turned_box(box_of(before, word), turn), abs=0.03
        )
