import json
import re
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from quinion.errors import ExtractionFailed
from quinion.extract.document import Options
from quinion.extract.pdf.lines import read_lined_pages
from quinion.extract.pdf.mupdf import pymupdf
from quinion.model.line import Line, LinedPage, lined_page_of_json, lines_of_text
from quinion.model.page import Method, Page
from tests.documents import Scan, Text, locked_pdf, make_pdf, text_image

Placed = tuple[float, float, str, float, str]
"""Left, baseline, text, size, font."""

REGULAR, BOLD = "helv", "hebo"


def write(path: Path, *pieces: Placed) -> Path:
    with pymupdf.open() as document:
        page = document.new_page()
        for left, baseline, text, size, font in pieces:
            page.insert_text((left, baseline), text, fontsize=size, fontname=font)
        document.save(path)
    return path


def read(path: Path, pages: int = 1) -> list[LinedPage]:
    return list(read_lined_pages(path, 1, pages, Options()))


def rows(path: Path) -> list[Line]:
    (page,) = read(path)
    return list(page.lines)


def test_a_number_and_the_words_beside_it_are_one_line(tmp_path: Path) -> None:
    path = write(
        tmp_path / "plan.pdf",
        (57, 100, "116.", 12, REGULAR),
        (93, 100, "Development should only", 12, REGULAR),
        (93, 114, "be prevented where", 12, REGULAR),
    )
    assert [line.text for line in rows(path)] == [
        "116. Development should only",
        "be prevented where",
    ]


def test_text_drawn_from_right_to_left_is_read_from_left_to_right(tmp_path: Path) -> None:
    path = write(
        tmp_path / "plan.pdf",
        (500, 100, "15", 12, REGULAR),
        (100, 100, "Homes", 12, REGULAR),
        (57, 100, "2", 12, REGULAR),
        (57, 120, "Roads", 12, REGULAR),
    )
    assert [line.text for line in rows(path)] == ["2 Homes 15", "Roads"]


def test_a_line_has_the_size_and_weight_of_most_of_its_letters(tmp_path: Path) -> None:
    path = write(
        tmp_path / "plan.pdf",
        (57, 100, "5.1", 12, BOLD),
        (93, 100, "The council expects", 12, REGULAR),
        (57, 200, "Transport", 18, BOLD),
    )
    body, heading = rows(path)
    assert (body.size, body.bold) == (12.0, False)
    assert (heading.size, heading.bold) == (18.0, True)
    assert heading.box is not None
    assert heading.box[0] == pytest.approx(57, abs=2)
    assert heading.box[1] < 200 < heading.box[3]


def test_a_small_number_at_the_beginning_marks_the_line(tmp_path: Path) -> None:
    path = write(
        tmp_path / "plan.pdf",
        (57, 700, "12", 6, REGULAR),
        (66, 702, "See the glossary.", 10, REGULAR),
        (57, 720, "12", 10, BOLD),
        (75, 720, "months", 10, REGULAR),
    )
    assert [(line.text, line.marked) for line in rows(path)] == [
        ("12 See the glossary.", True),
        ("12 months", False),
    ]


def test_the_lines_have_the_letters_of_the_pages_text(tmp_path: Path) -> None:
    path = write(
        tmp_path / "plan.pdf",
        *((57 + 150 * (n % 3), 100 + 20 * (n // 3), f"cell {n} ", 9, REGULAR) for n in range(12)),
        (57, 300, "naïve ‘quotes’ and  spaces", 12, BOLD),
    )
    (page,) = read(path)
    printed = Counter(re.sub(r"\s", "", page.page.text))
    assert Counter(re.sub(r"\s", "", "".join(line.text for line in page.lines))) == printed
    assert all(line.text == " ".join(line.text.split()) for line in page.lines)


def test_a_rotated_page_is_read_as_displayed(tmp_path: Path) -> None:
    with pymupdf.open() as document:
        page = document.new_page()
        for left, text in ((100, "116. Development should"), (120, "be prevented where")):
            page.insert_text((left, 700), text, fontsize=12, rotate=90)
        page.set_rotation(90)
        document.save(tmp_path / "turned.pdf")
    first, second = rows(tmp_path / "turned.pdf")
    assert (first.text, second.text) == ("116. Development should", "be prevented where")
    assert first.box is not None and second.box is not None
    assert first.box[2] - first.box[0] > 100 > first.box[3] - first.box[1]
    assert first.box[0] == pytest.approx(second.box[0], abs=1)
    assert first.box[3] < second.box[3]


def test_vertical_text_is_not_merged_with_other_lines(tmp_path: Path) -> None:
    with pymupdf.open() as document:
        page = document.new_page()
        for left, text in ((100, "written upwards"), (120, "in two lines")):
            page.insert_text((left, 700), text, fontsize=12, rotate=90)
        page.insert_text((200, 690), "and one across", fontsize=12)
        document.save(tmp_path / "margin.pdf")
    texts = [line.text for line in rows(tmp_path / "margin.pdf")]
    assert texts == ["written upwards", "in two lines", "and one across"]


def test_a_page_without_text_has_no_lines(tmp_path: Path) -> None:
    with pymupdf.open() as document:
        document.new_page()
        document.save(tmp_path / "blank.pdf")
    (page,) = read_lined_pages(tmp_path / "blank.pdf", 1, 1, Options(ocr=False))
    assert page.lines == ()


def test_lines_of_scanned_pages_have_boxes_and_sizes_and_those_of_images_have_none(
    tmp_path: Path,
) -> None:
    words = "Beds of rosemary line the yard"
    pdf = make_pdf(tmp_path / "scan.pdf", [Text(words), Scan(words)])
    layer, scan = read(pdf, 2)
    assert (layer.page.method, scan.page.method) == (Method.TEXT_LAYER, Method.OCR)
    assert layer.lines[0].box is not None
    assert not layer.lines[0].is_scanned
    [line] = scan.lines
    assert (line.text, line.page_number, line.is_scanned) == (words, 2, True)
    assert line.box is not None and line.size is not None
    assert 0 < line.box[1] < line.box[3]
    assert line.places == ((0, len(words.replace(" ", ""))),)
    (image,) = read(text_image(tmp_path / "scan.png", words))
    assert [(line.text, line.box) for line in image.lines] == [(words, None)]


def test_a_locked_file_is_refused_as_when_its_pages_are_read(tmp_path: Path) -> None:
    with pytest.raises(ExtractionFailed, match="password"):
        read(locked_pdf(tmp_path / "locked.pdf"))


def test_lines_of_text_are_its_rows() -> None:
    page = Page(3, "116.  One\n\n  two \n", Method.OCR)
    assert lines_of_text(page) == (
        Line(3, "116. One", places=((0, 7),)),
        Line(3, "two", places=((7, 10),)),
    )


def test_a_page_survives_json(tmp_path: Path) -> None:
    path = write(tmp_path / "plan.pdf", (57, 100, "5.1 The council", 12, BOLD))
    (page,) = read(path)
    assert lined_page_of_json(json.loads(json.dumps(asdict(page)))) == page
    bare = LinedPage(page.page, lines_of_text(page.page))
    assert lined_page_of_json(json.loads(json.dumps(asdict(bare)))) == bare
    hiding = replace(page, page=replace(page.page, hidden=46))
    assert lined_page_of_json(json.loads(json.dumps(asdict(hiding)))) == hiding
