import json
import logging
from dataclasses import asdict
from pathlib import Path

import pytest
from PIL import ImageFilter

from quinion.errors import ExtractionFailed, FileMissing, ToolMissing
from quinion.extract import document
from quinion.extract.document import Options, inspect, probe, read_pages
from quinion.extract.pdf.mupdf import pymupdf
from quinion.extract.scans.scan_decision import (
    DocumentKind,
    PageKind,
    choose_pages_to_probe,
    contains_drawings,
    decide,
)
from quinion.model.page import Method, Page, document_method
from tests.documents import (
    PROSE,
    AnyPage,
    Blank,
    Drawing,
    Scan,
    Text,
    huge_png,
    make_pdf,
    page_text,
    photo,
    picture_of,
    text_image,
    text_pdf,
)

OPTIONS = Options()
NO_OCR = Options(ocr=False)
THRESHOLD = 0.7


def judge(path: Path) -> DocumentKind:
    inspection = inspect(path, OPTIONS)
    kinds = probe(path, choose_pages_to_probe(inspection, THRESHOLD), OPTIONS)
    return decide(inspection, THRESHOLD, kinds)


def draw_house(path: Path) -> Path:
    """Draw walls and a roof around the content of a PDF's first page."""
    with pymupdf.open(path) as document:
        page = document[0]
        page.draw_rect((2, 2, page.rect.width - 2, page.rect.height - 2))
        page.draw_polyline([(10, 60), (60, 10), (110, 60)])
        document.saveIncr()
    return path


def test_inspection_counts_and_measures_pages(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", [Text(PROSE), Scan(PROSE, cover=0.5), Drawing()])
    inspection = inspect(path, OPTIONS)
    assert inspection.page_count == 3
    assert inspection.image_ratios == pytest.approx((0.0, 0.5, 1.0), abs=0.01)


def test_inspection_can_cross_a_process_boundary(tmp_path: Path) -> None:
    assert json.loads(json.dumps(asdict(inspect(text_pdf(tmp_path / "a.pdf", PROSE), OPTIONS))))


def test_an_image_file_is_all_image(tmp_path: Path) -> None:
    inspection = inspect(text_image(tmp_path / "a.tif", "One", "Two"), OPTIONS)
    assert inspection.image_ratios == (1.0, 1.0)


def test_too_many_pages_are_refused(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", [Blank()] * 3)
    with pytest.raises(ExtractionFailed, match="has 3 pages; at most 2"):
        inspect(path, Options(max_pages=2))


def test_a_giant_image_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    with pytest.raises(ExtractionFailed, match="at most 150,000,000 are read"):
        inspect(huge_png(tmp_path / "a.png"), OPTIONS)


def test_a_missing_file_is_missing_to_every_call(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    with pytest.raises(FileMissing):
        inspect(path, OPTIONS)
    with pytest.raises(FileMissing):
        probe(path, [1], OPTIONS)
    with pytest.raises(FileMissing):
        next(read_pages(path, 1, 1, OPTIONS))


def test_a_scan_is_a_scan(tmp_path: Path) -> None:
    assert judge(make_pdf(tmp_path / "a.pdf", [Scan(PROSE, cover=1.0)] * 2)) is DocumentKind.SCAN


def test_a_scan_with_a_hidden_text_layer_needs_no_ocr_to_be_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_pdf(tmp_path / "a.pdf", [Scan(PROSE, cover=1.0, layer=PROSE)])
    monkeypatch.setenv("PATH", "")
    assert judge(path) is DocumentKind.SCAN


def test_a_drawing_is_a_picture(tmp_path: Path) -> None:
    assert judge(make_pdf(tmp_path / "a.pdf", [Drawing(1), Drawing(2)])) is DocumentKind.PICTURE


def test_a_drawing_in_vectors_is_a_picture(tmp_path: Path) -> None:
    title = text_pdf(tmp_path / "a.pdf", "42 Madeup Road\nElevations")
    assert judge(title) is DocumentKind.ORDINARY
    assert judge(draw_house(title)) is DocumentKind.PICTURE


def test_a_photograph_is_a_picture_and_a_photographed_page_is_a_scan(tmp_path: Path) -> None:
    assert judge(photo(tmp_path / "a.jpg")) is DocumentKind.PICTURE
    assert judge(text_image(tmp_path / "b.jpg")) is DocumentKind.SCAN


def test_probing_names_the_kind_of_each_page_that_was_asked_for(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", [Drawing(), Scan(PROSE, cover=1.0), Blank(), Text(PROSE)])
    assert probe(path, [4, 1, 3, 2], OPTIONS) == (
        PageKind.TEXT,
        PageKind.PICTURE,
        PageKind.BLANK,
        PageKind.TEXT,
    )


def test_a_text_layer_is_read_as_it_is(tmp_path: Path) -> None:
    (page,) = read_pages(text_pdf(tmp_path / "a.pdf", PROSE), 1, 1, OPTIONS)
    assert (page.number, page.text, page.method) == (1, page_text(PROSE), Method.TEXT_LAYER)
    assert page.confidence is None


def test_a_page_without_text_is_read_with_ocr(tmp_path: Path) -> None:
    (page,) = read_pages(make_pdf(tmp_path / "a.pdf", [Scan(PROSE)]), 1, 1, OPTIONS)
    assert (page.text, page.method) == (PROSE, Method.OCR)
    assert page.confidence is not None
    assert page.confidence > 90


@pytest.mark.parametrize(("layer", "method"), [("9 letters", "ocr"), ("10 letters", "text_layer")])
def test_ten_characters_are_a_text_layer(tmp_path: Path, layer: str, method: str) -> None:
    path = make_pdf(tmp_path / "a.pdf", [Scan(PROSE, layer=layer)])
    (page,) = read_pages(path, 1, 1, OPTIONS)
    assert page.method == method


def test_without_ocr_a_scan_has_no_text(tmp_path: Path) -> None:
    (page,) = read_pages(make_pdf(tmp_path / "a.pdf", [Scan(PROSE)]), 1, 1, NO_OCR)
    assert (page.text, page.method) == ("", Method.TEXT_LAYER)


def test_only_the_pages_that_were_asked_for_are_read(tmp_path: Path) -> None:
    path = text_pdf(tmp_path / "a.pdf", *(f"This is page number {n}" for n in range(1, 6)))
    pages = list(read_pages(path, 2, 4, OPTIONS))
    assert [page.number for page in pages] == [2, 3, 4]
    assert [page.text.split()[-1] for page in pages] == ["2", "3", "4"]


def test_a_page_is_handed_over_before_the_next_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = read_pages(make_pdf(tmp_path / "a.pdf", [Text(PROSE), Scan(PROSE)]), 1, 2, OPTIONS)
    monkeypatch.setenv("PATH", "")
    assert next(pages).number == 1
    with pytest.raises(ToolMissing):
        next(pages)


def test_a_document_of_both_kinds_of_page_is_mixed(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", [Text(PROSE), Scan(PROSE)])
    assert document_method(read_pages(path, 1, 2, OPTIONS)) is Method.MIXED


def test_frames_of_a_tiff_are_read_in_order(tmp_path: Path) -> None:
    path = text_image(tmp_path / "a.tif", "The first frame", "The second frame")
    assert [page.text for page in read_pages(path, 1, 2, OPTIONS)] == [
        "The first frame",
        "The second frame",
    ]


@pytest.mark.slow
def test_a_page_that_is_hard_to_read_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    picture_of(PROSE, 150).filter(ImageFilter.GaussianBlur(2.2)).save(tmp_path / "a.png")
    with caplog.at_level(logging.WARNING):
        (page,) = read_pages(tmp_path / "a.png", 1, 1, OPTIONS)
    assert page.confidence is not None
    assert page.confidence < 70
    assert "a.png, page 1: OCR confidence is only" in caplog.text


def test_a_clear_page_is_not_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        list(read_pages(text_image(tmp_path / "a.png"), 1, 1, OPTIONS))
    assert caplog.text == ""


def test_a_scan_cannot_be_read_without_tesseract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = text_image(tmp_path / "a.png")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolMissing):
        list(read_pages(path, 1, 1, OPTIONS))


@pytest.mark.parametrize(("page", "expected"), [(Drawing(), True), (Scan(PROSE, 1.0), False)])
def test_a_plan_inside_a_report_is_a_drawing_and_a_scan_is_not(
    tmp_path: Path, page: AnyPage, expected: bool
) -> None:
    path = make_pdf(tmp_path / "a.pdf", [Text(PROSE), page, Text(PROSE)])
    pages = read_pages(path, 1, 3, OPTIONS)
    assert contains_drawings(inspect(path, OPTIONS), pages) is expected


def test_a_page_that_ocr_is_not_done_with_is_left_empty_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = make_pdf(tmp_path / "a.pdf", [Scan(PROSE), Text(PROSE)])
    monkeypatch.setattr(document, "OCR_TIMEOUT_S", 0.001)
    scanned, layered = read_pages(path, 1, 2, OPTIONS)
    assert scanned == Page(1, "", Method.OCR)
    assert layered.text == page_text(PROSE)
    [said] = caplog.messages
    assert "a.pdf, page 1: OCR took more than 0 s; the page is left empty" in said
