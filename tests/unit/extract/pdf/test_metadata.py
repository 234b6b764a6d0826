from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quinion.errors import ExtractionFailed
from quinion.extract.document import Options
from quinion.extract.pdf.metadata import (
    MAX_KEYWORD_CHARACTERS,
    MAX_KEYWORDS,
    MAX_TITLE_CHARACTERS,
    PdfMetadata,
    describe,
)
from quinion.extract.pdf.mupdf import pymupdf
from tests.documents import PROSE, Scan, locked_pdf, make_pdf, truncated_pdf

OPTIONS = Options(ocr=False, extension=".pdf")
PRINTED = "Map Projections: A Working Manual"


def make(path: Path, lines: dict[str, int], **data: str) -> Path:
    """Write a page with these lines and font sizes, in a file with this metadata."""
    with pymupdf.open() as document:
        page = document.new_page()
        for row, (line, size) in enumerate(lines.items(), 1):
            page.insert_text((40, 60 * row), line, fontsize=size)
        document.set_metadata(data)
        document.save(path)
    return path


def title_of(path: Path) -> str:
    return describe(path, OPTIONS).title


def test_a_file_is_believed_if_it_has_a_title_and_keywords(tmp_path: Path) -> None:
    file = make(
        tmp_path / "a.pdf", {PRINTED: 20}, title="  The\nManual ", keywords="maps, maps; , Mercator"
    )
    assert describe(file, OPTIONS) == PdfMetadata("The Manual", ("maps", "Mercator"))


def test_neither_a_formula_nor_running_text_is_a_title(tmp_path: Path) -> None:
    assert title_of(make(tmp_path / "a.pdf", {"E = mv + x": 14, PRINTED: 12})) == PRINTED
    lines = {f"{PRINTED}, line {number}": 10 for number in range(10)}
    assert title_of(make(tmp_path / "b.pdf", lines)) == ""


@pytest.mark.parametrize(
    "rubbish",
    [
        "",
        " ",
        "untitled",
        "Untitled-1",
        "Untitled Document",
        "Document1",
        "Microsoft Word - final_v3.doc",
        "PowerPoint Presentation",
        "C:\\temp\\report.docx",
        "pp1395.pdf",
        "paper.dvi",
        "1395",
        "----",
        "\x00\x01",
    ],
)
def test_what_is_no_title_is_not_taken_for_one(tmp_path: Path, rubbish: str) -> None:
    assert title_of(make(tmp_path / "a.pdf", {PRINTED: 20}, title=rubbish)) == PRINTED


def test_the_largest_print_of_the_first_page_is_its_title(tmp_path: Path) -> None:
    lines = {
        "Geological Survey 1395": 11,
        "Map Projections:": 24,
        "A Working Manual": 24,
        "By John P. Snyder": 12,
        "1395": 60,
    }
    assert title_of(make(tmp_path / "a.pdf", lines)) == PRINTED


def test_a_page_without_words_has_no_title(tmp_path: Path) -> None:
    assert title_of(make(tmp_path / "a.pdf", {"12": 30})) == ""


@pytest.mark.parametrize("make_bad", [locked_pdf, truncated_pdf])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, make_bad: object) -> None:
    assert callable(make_bad)
    with pytest.raises(ExtractionFailed, match=r"a\.pdf"):
        describe(make_bad(tmp_path / "a.pdf"), OPTIONS)


# No surrogates: PyMuPDF cannot write them.
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=WORDS, keywords=WORDS)
def test_metadata_is_printable_and_short(tmp_path: Path, title: str, keywords: str) -> None:
    about = describe(make(tmp_path / "a.pdf", {}, title=title, keywords=keywords), OPTIONS)
    assert len(about.title) <= MAX_TITLE_CHARACTERS
    assert len(about.keywords) <= MAX_KEYWORDS
    for text in (about.title, *about.keywords):
        assert text.isprintable()
        assert text == " ".join(text.split())
    assert all(0 < len(word) <= MAX_KEYWORD_CHARACTERS for word in about.keywords)


def test_a_scan_is_not_read_for_a_title_that_it_cannot_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_pdf(tmp_path / "a.pdf", [Scan(PROSE)])
    monkeypatch.setenv("PATH", "")  # with OCR it would say that Tesseract is missing
    assert describe(path, Options(extension=".pdf")) == PdfMetadata("", ())
