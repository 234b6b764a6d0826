"""Which pages of a document a person should check."""

import pytest

from quinion.ingest.page_quality import PageQuality
from quinion.model.page import LOW_CONFIDENCE, Method, Page


def test_pages_to_check_are_listed_by_reason() -> None:
    pages = [
        Page(1, "text", Method.TEXT_LAYER),
        Page(2, " \n", Method.OCR),
        Page(3, "words", Method.OCR, confidence=LOW_CONFIDENCE - 1),
        Page(4, "words", Method.OCR, confidence=LOW_CONFIDENCE, hidden=3),
    ]
    assert PageQuality.of(pages) == PageQuality(4, empty=(2,), doubtful=(3,), hidden=(4,))


@pytest.mark.parametrize(
    ("numbers", "noted"),
    [((), None), ((3,), "3"), ((3, 4, 5, 9), "3-5,9"), ((1, 3, 5), "1,3,5")],
)
def test_page_numbers_are_stored_as_ranges(numbers: tuple[int, ...], noted: str | None) -> None:
    quality = PageQuality(9, empty=numbers)
    metadata = quality.as_metadata()
    assert metadata.get("empty_pages") == noted
    assert PageQuality.from_metadata(metadata) == quality


def test_a_document_of_an_earlier_version_has_no_quality() -> None:
    assert PageQuality.from_metadata({"file_path": "/a.pdf"}) == PageQuality()
    assert PageQuality().as_metadata() == {}
