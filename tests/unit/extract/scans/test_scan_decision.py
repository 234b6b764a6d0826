import subprocess
import sys

import pytest

from quinion.extract.scans.scan_decision import (
    SAMPLE_SIZE,
    DocumentKind,
    Inspection,
    PageKind,
    choose_pages_to_probe,
    contains_drawings,
    decide,
)
from quinion.model.page import Method, Page
from tests.documents import PROSE

THRESHOLD = 0.7
TEXT, PICTURE, BLANK = PageKind.TEXT, PageKind.PICTURE, PageKind.BLANK


def inspection(*ratios: float) -> Inspection:
    return Inspection(len(ratios), ratios)


def test_image_ratio_is_the_average_over_the_pages() -> None:
    assert inspection(1.0, 0.5, 0.0).image_ratio == 0.5


def test_a_document_at_the_threshold_is_not_probed() -> None:
    assert choose_pages_to_probe(inspection(0.7), THRESHOLD) == ()


def test_every_page_of_a_short_document_is_probed() -> None:
    assert choose_pages_to_probe(inspection(1.0, 1.0, 1.0), THRESHOLD) == (1, 2, 3)


@pytest.mark.parametrize("page_count", [5, 6, 19, 100, 4999])
def test_probed_pages_are_few_distinct_and_spread_over_the_document(page_count: int) -> None:
    numbers = choose_pages_to_probe(inspection(*[1.0] * page_count), THRESHOLD)
    assert len(set(numbers)) == SAMPLE_SIZE
    assert list(numbers) == sorted(numbers)
    assert numbers[0] <= page_count / 5 + 1
    assert page_count * 4 / 5 <= numbers[-1] <= page_count


@pytest.mark.parametrize(
    ("ratio", "probed", "verdict"),
    [
        (0.1, [], DocumentKind.ORDINARY),
        (0.7, [], DocumentKind.ORDINARY),
        (0.1, [PICTURE], DocumentKind.ORDINARY),
        (0.9, [TEXT], DocumentKind.SCAN),
        (0.9, [PICTURE], DocumentKind.PICTURE),
        (0.9, [PICTURE, TEXT, TEXT], DocumentKind.SCAN),
        (0.9, [PICTURE, PICTURE, TEXT], DocumentKind.PICTURE),
        (0.9, [PICTURE, BLANK, BLANK], DocumentKind.PICTURE),
        (0.9, [TEXT, BLANK, BLANK], DocumentKind.SCAN),
    ],
)
def test_decision(ratio: float, probed: list[PageKind], verdict: DocumentKind) -> None:
    assert decide(inspection(ratio), THRESHOLD, probed) is verdict


def test_without_ocr_the_ratio_decides_alone() -> None:
    assert decide(inspection(0.71), THRESHOLD, ()) is DocumentKind.PICTURE


def test_as_many_pages_to_read_as_to_look_at_is_worth_reading() -> None:
    assert decide(inspection(1.0, 1.0), THRESHOLD, [PICTURE, TEXT]) is DocumentKind.SCAN


def test_blank_pages_alone_are_read_so_that_the_answer_is_no_content() -> None:
    assert decide(inspection(1.0), THRESHOLD, [BLANK]) is DocumentKind.SCAN


def test_a_covered_page_with_few_words_is_a_drawing() -> None:
    pages = [Page(1, PROSE, Method.TEXT_LAYER), Page(2, "Site plan", Method.TEXT_LAYER)]
    assert contains_drawings(inspection(0.0, 0.9), pages)


def test_a_covered_page_with_running_text_is_no_drawing() -> None:
    assert not contains_drawings(inspection(1.0), [Page(1, PROSE, Method.OCR, 95.0)])


def test_a_title_page_without_pictures_is_no_drawing() -> None:
    assert not contains_drawings(inspection(0.1), [Page(1, "Local Plan", Method.TEXT_LAYER)])


def test_words_that_ocr_imagined_on_a_map_do_not_make_it_text() -> None:
    assert contains_drawings(inspection(1.0), [Page(1, PROSE, Method.OCR, 41.0)])


def test_a_page_where_ocr_found_nothing_is_a_drawing_if_it_is_covered() -> None:
    assert contains_drawings(inspection(1.0), [Page(1, "", Method.OCR, None)])


def test_a_receipt_that_was_probed_is_no_drawing() -> None:
    receipt = [Page(1, "TOTAL 12.00\nCASH 20.00\nCHANGE 8.00", Method.OCR, 90.0)]
    assert not contains_drawings(inspection(1.0), receipt, {1: TEXT})
    assert contains_drawings(inspection(1.0), receipt, {1: PICTURE})


def test_the_decision_needs_no_library_that_reads_files() -> None:
    code = (
        "import sys, quinion.extract.scans.scan_decision;"
        "sys.exit(bool({'pymupdf', 'PIL'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
