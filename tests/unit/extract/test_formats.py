from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from quinion.embed.local.weights import find_tokenizer
from quinion.errors import ExtractionFailed, FileMissing, UnsupportedFile
from quinion.extract import formats
from quinion.extract.formats import FORMATS, INDEXED, PDF, FileFormat, recognize
from quinion.model.text_part import Lines, TextPart
from quinion.workers.jobs import documents
from tests.documents import PROSE, text_image, text_pdf

DECK = FileFormat(
    "deck", (".deck",), __name__, "a deck", signatures={b"DECK": "a deck"}, is_strict=True
)


def read_parts(path: Path, extension: str) -> Iterator[TextPart]:
    """Read a toy format, with this module as its reader: each line is a slide."""
    for number, line in enumerate(path.read_text().splitlines()[1:], 1):
        yield TextPart(line, place={"slide": number}, lines=Lines.NONE)


def read_deck(path: Path) -> list[tuple[str, object]]:
    frames = documents.JOBS["read_chunks"](
        path=str(path), extension=".deck", size=64, tokenizer=str(find_tokenizer(None))
    )
    chunks = [chunk for frame in frames for chunk in frame["chunks"]]
    return [(chunk["text"], chunk["metadata"]) for chunk in chunks]


def test_extensions_with_pages_are_those_of_the_document_store() -> None:
    paged = formats.by_extension(one for one in FORMATS if one.has_pages)
    assert {*paged} == {".pdf", ".png", ".jpg", ".jpeg", ".tiff", ".tif", ".bmp"}


def test_indexed_extensions_are_those_of_the_contract_of_docvec_and_more() -> None:
    names = {extension: format.name for extension, format in INDEXED.items()}
    contract = {".md": "markdown", ".pdf": "pdf", ".txt": "text", ".py": "code"}
    office = ("docx", "pptx", "html", "epub", "xlsx", "csv", "eml")
    more = {**{f".{name}": name for name in office}, ".htm": "html"}
    assert names == contract | more


def test_a_zip_archive_named_pdf_is_not_called_an_office_file(tmp_path: Path) -> None:
    (tmp_path / "plan.pdf").write_bytes(b"PK\x03\x04")
    with pytest.raises(ExtractionFailed, match="something else"):
        recognize(tmp_path / "plan.pdf")


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_each_reader_has_the_function_of_its_format(format: FileFormat) -> None:
    function = "open_pages" if format.has_pages else "read_parts"
    assert callable(getattr(import_module(format.reader), function))


def test_another_format_is_a_reader_and_a_line_in_the_registry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "FORMATS", (*FORMATS, DECK))
    monkeypatch.setitem(INDEXED, ".deck", DECK)
    deck = tmp_path / "plan.deck"
    deck.write_text("DECK\nCycle parking\nTrees\n")
    assert read_deck(deck) == [("Cycle parking", {"slide": 1}), ("Trees", {"slide": 2})]
    text_pdf(deck, PROSE)
    with pytest.raises(ExtractionFailed, match=r"not a deck but a PDF\. Rename it to \.pdf"):
        read_deck(deck)


def test_extensions_are_recognized_in_capitals_too(tmp_path: Path) -> None:
    assert recognize(text_pdf(tmp_path / "PLAN.PDF", PROSE)) is PDF


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileMissing, match=r"plan\.pdf"):
        recognize(tmp_path / "plan.pdf")


@pytest.mark.parametrize("name", ["plan.docx", "plan", "plan.pdf.exe"])
def test_other_extensions_are_refused_with_those_that_we_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnsupportedFile, match=r"\.pdf, \.png"):
        recognize(tmp_path / name)


def test_an_empty_file_is_reported_as_empty(tmp_path: Path) -> None:
    (tmp_path / "plan.pdf").touch()
    with pytest.raises(ExtractionFailed, match="is empty"):
        recognize(tmp_path / "plan.pdf")


def test_a_folder_with_a_files_name_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "plan.pdf").mkdir()
    with pytest.raises(ExtractionFailed, match="cannot be read"):
        recognize(tmp_path / "plan.pdf")


def test_an_image_named_pdf_is_called_what_it_is(tmp_path: Path) -> None:
    picture = text_image(tmp_path / "plan.png")
    with pytest.raises(ExtractionFailed, match=r"not a PDF but a PNG image\. Rename it to match"):
        recognize(picture.rename(tmp_path / "plan.pdf"))


def test_a_page_of_html_named_pdf_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.pdf").write_text("<html>Please log in</html>")
    with pytest.raises(ExtractionFailed, match=r"no %PDF header\. Get a fresh copy"):
        recognize(tmp_path / "plan.pdf")


def test_a_pdf_named_png_is_called_what_it_is(tmp_path: Path) -> None:
    plan = text_pdf(tmp_path / "plan.pdf", PROSE)
    with pytest.raises(ExtractionFailed, match=r"not an image but a PDF\. Rename it to \.pdf"):
        recognize(plan.rename(tmp_path / "plan.png"))


def test_junk_before_the_pdf_header_is_allowed(tmp_path: Path) -> None:
    plan = text_pdf(tmp_path / "plan.pdf", PROSE)
    plan.write_bytes(b"\n" * 900 + plan.read_bytes())
    assert recognize(plan) is PDF
