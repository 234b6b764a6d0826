"""Warnings about pages on which OCR probably misread many words."""

import pytest

from quinion.ingest.misread_pages import describe_misread, find_misread, right_share
from quinion.model.page import Method, Page


def scanned(number: int, confidence: float | None, engine: str | None = "tesseract") -> Page:
    return Page(number, "text", Method.OCR, confidence, engine=engine)


def test_pages_that_are_probably_well_read_are_not_named() -> None:
    pages = [
        Page(1, "text", Method.TEXT_LAYER),
        scanned(2, 95.0),
        scanned(3, 99.0, "rapidocr"),
        scanned(4, None),
    ]
    assert find_misread(pages) == {}
    assert describe_misread({}) == []


def test_the_same_confidence_means_more_errors_of_rapidocr_than_of_tesseract() -> None:
    pages = [scanned(1, 92.0), scanned(2, 92.0, "rapidocr"), scanned(3, 92.0, "tesseract+rapidocr")]
    assert find_misread(pages) == {2: pytest.approx(0.23), 3: pytest.approx(0.23)}


@pytest.mark.parametrize(
    ("confidence", "share"), [(20.0, 0.55), (75.0, 0.68), (78.5, 0.715), (95.0, 0.98), (99.0, 0.98)]
)
def test_the_share_is_interpolated_between_the_measured_points(
    confidence: float, share: float
) -> None:
    assert right_share("tesseract", confidence) == pytest.approx(share)


def test_the_warning_names_pages_and_the_worst_of_them() -> None:
    assert describe_misread({7: 0.12, 3: 0.32}) == [
        "Pages 3, 7 may have many misread words, by estimate up to 32 of 100: "
        "compare with the original before you quote, or scan again at a higher resolution."
    ]
    [many] = describe_misread(dict.fromkeys(range(1, 14), 0.2))
    assert "Pages 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 3 more may have" in many
    [one] = describe_misread({4: 0.2})
    assert one.startswith("Page 4 may have")
