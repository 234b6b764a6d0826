from pathlib import Path

import pytest

from quinion.errors import ExtractionFailed, FileMissing, UnsupportedFile
from quinion.extract.filetype import KINDS, FileKind, recognize
from tests.documents import PROSE, text_image, text_pdf


def test_the_kinds_of_file_are_those_of_the_contract() -> None:
    assert set(KINDS) == {".pdf", ".png", ".jpg", ".jpeg", ".tiff", ".tif", ".bmp"}


def test_extensions_are_recognized_in_capitals_too(tmp_path: Path) -> None:
    assert recognize(text_pdf(tmp_path / "PLAN.PDF", PROSE)) is FileKind.PDF


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
    with pytest.raises(ExtractionFailed, match="not a PDF but a PNG image"):
        recognize(picture.rename(tmp_path / "plan.pdf"))


def test_a_page_of_html_named_pdf_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.pdf").write_text("<html>Please log in</html>")
    with pytest.raises(ExtractionFailed, match="no %PDF header"):
        recognize(tmp_path / "plan.pdf")


def test_a_pdf_named_png_is_called_what_it_is(tmp_path: Path) -> None:
    plan = text_pdf(tmp_path / "plan.pdf", PROSE)
    with pytest.raises(ExtractionFailed, match="not an image but a PDF"):
        recognize(plan.rename(tmp_path / "plan.png"))


def test_junk_before_the_pdf_header_is_allowed(tmp_path: Path) -> None:
    plan = text_pdf(tmp_path / "plan.pdf", PROSE)
    plan.write_bytes(b"\n" * 900 + plan.read_bytes())
    assert recognize(plan) is FileKind.PDF
