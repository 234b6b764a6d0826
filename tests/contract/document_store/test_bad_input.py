"""Whatever is asked, the answer is the contract's error, it comes soon, and life goes on."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.contract.document_store.asking import (
    find,
    ingest,
    ingest_well,
    list_documents,
    refusal,
)
from tests.contract.session import Session
from tests.documents import (
    PROSE,
    Scan,
    huge_png,
    locked_pdf,
    make_pdf,
    text_image,
    text_pdf,
    truncated_pdf,
)

REF = "BAD"
SOON_S = 20.0
"""No answer below takes more than a moment; a machine with other work is given this long."""


@pytest.fixture
def folder(tmp_path: Path, session: Session) -> Iterator[Path]:
    """A place for a test's bad file. Afterwards nothing is stored, and a good file is taken."""
    begun = time.monotonic()
    yield tmp_path
    assert time.monotonic() - begun < SOON_S
    assert list_documents(session, REF) == []
    assert find(session, "anything", application_ref=REF) == []
    good = text_pdf(tmp_path / "good.pdf", f"Good.\n{PROSE}")
    ingest_well(session, good, f"AFTER {tmp_path.name}")


def refuse(session: Session, file: Path | str, error_type: str) -> str:
    """The message of a refused ingest; it names the file, so that it helps in a long list."""
    message = refusal(ingest(session, file, REF), error_type)
    assert len(message.split()) > 4
    return message


def test_a_missing_file(session: Session, folder: Path) -> None:
    message = refuse(session, folder / "missing.pdf", "file_not_found")
    assert str(folder / "missing.pdf") in message


def test_a_missing_file_of_an_unsupported_type(session: Session, folder: Path) -> None:
    refuse(session, folder / "missing.xyz", "file_not_found")


def test_a_folder(session: Session, folder: Path) -> None:
    (folder / "plans.pdf").mkdir()
    assert "folder" in refuse(session, folder / "plans.pdf", "file_not_found")


@pytest.mark.parametrize("path", ["plans/Site Plan.pdf", "Site Plan.pdf", "./a.pdf", "~/a.pdf"])
def test_a_relative_path(session: Session, folder: Path, path: str) -> None:
    assert "absolute" in refuse(session, path, "file_not_found")


@pytest.mark.parametrize("path", ["", " ", "/tmp/nul\0byte.pdf", "/" + "x" * 300 + ".pdf", "/.pdf"])
def test_a_path_that_no_file_can_have(session: Session, folder: Path, path: str) -> None:
    refuse(session, path, "file_not_found")


def test_a_link_that_leads_nowhere_or_in_a_circle(session: Session, folder: Path) -> None:
    (folder / "nowhere.pdf").symlink_to(folder / "gone.pdf")
    (folder / "circle.pdf").symlink_to(folder / "circle.pdf")
    refuse(session, folder / "nowhere.pdf", "file_not_found")
    refuse(session, folder / "circle.pdf", "file_not_found")


def test_a_pipe_that_nobody_writes_to(session: Session, folder: Path) -> None:
    os.mkfifo(folder / "pipe.pdf")
    refuse(session, folder / "pipe.pdf", "file_not_found")


def test_a_device_that_never_ends(session: Session, folder: Path) -> None:
    refuse(session, "/dev/zero", "file_not_found")
    (folder / "zeros.pdf").symlink_to("/dev/zero")
    refuse(session, folder / "zeros.pdf", "file_not_found")


def test_a_file_without_permission_to_read(session: Session, folder: Path) -> None:
    file = text_pdf(folder / "private.pdf", PROSE)
    file.chmod(0)
    if os.access(file, os.R_OK):
        pytest.skip("this user may read everything")
    assert "permission" in refuse(session, file, "file_not_found")


@pytest.mark.parametrize("name", ["notes.txt", "report.docx", "archive.pdf.zip", "pdf", "x.svg"])
def test_an_unsupported_extension(session: Session, folder: Path, name: str) -> None:
    shutil.copy(text_pdf(folder / "real.pdf", PROSE), folder / name)
    message = refuse(session, folder / name, "unsupported_file_type")
    for extension in (".pdf", ".png", ".jpg", ".jpeg", ".tiff", ".tif", ".bmp"):
        assert extension in message


def write(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


def png_as_pdf(path: Path) -> object:
    return text_image(path.with_suffix(".png")).rename(path)


def pdf_as_png(path: Path) -> object:
    return text_pdf(path.with_suffix(".pdf"), PROSE).rename(path)


def half_a_png(path: Path) -> object:
    whole = text_image(path).read_bytes()
    return path.write_bytes(whole[: len(whole) // 2])


# What is made, under which name, and a word that the message must have.
UNREADABLE: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "an empty PDF": ("empty.pdf", write(b""), "empty"),
    "an empty image": ("empty.png", write(b""), "empty"),
    "text under a PDF's name": ("letter.pdf", write(b"Dear Sir or Madam,\n" * 50), "PDF"),
    "text under an image's name": ("letter.jpg", write(b"Dear Sir or Madam,\n" * 50), "image"),
    "a PNG under a PDF's name": ("picture.pdf", png_as_pdf, "PNG"),
    "a PDF under a PNG's name": ("report.png", pdf_as_png, "PDF"),
    "a PDF with a password": ("locked.pdf", locked_pdf, "password"),
    "the beginning of a PDF": ("cut.pdf", truncated_pdf, "damaged"),
    "nothing but a PDF's header": ("header.pdf", write(b"%PDF-1.7\n%%EOF\n"), "damaged"),
    "half a PNG": ("half.png", half_a_png, "damaged"),
    "a PNG of 60,000 by 60,000 pixels": ("huge.png", huge_png, "60000 x 60000"),
    "zeros under a PDF's name": ("zeros.pdf", write(bytes(1 << 20)), "PDF"),
    "zeros under a TIFF's name": ("zeros.tiff", write(b"II*\0" + bytes(1 << 16)), "zeros.tiff"),
}


@pytest.mark.parametrize(("name", "make", "word"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_an_unreadable_file(
    session: Session, folder: Path, name: str, make: Callable[[Path], object], word: str
) -> None:
    make(folder / name)
    message = refuse(session, folder / name, "extraction_failed")
    assert word in message
    assert name in message


def test_a_file_that_changes_while_it_is_read(session: Session, folder: Path) -> None:
    file = make_pdf(folder / "Growing.pdf", [Scan(PROSE)] * 3)
    job = session.start("ingest_document", file_path=str(file), application_ref=REF)
    job.wait_for_progress()
    with file.open("ab") as end:
        end.write(b"\n% another line\n")
    assert "changed" in refusal(job.result(), "extraction_failed")


def test_a_file_that_disappears_while_it_is_read(session: Session, folder: Path) -> None:
    file = make_pdf(folder / "Vanishing.pdf", [Scan(PROSE)] * 3)
    job = session.start("ingest_document", file_path=str(file), application_ref=REF)
    job.wait_for_progress()
    file.unlink()
    refusal(job.result(), "extraction_failed")


@pytest.mark.parametrize("ref", ["", "  ", "\n"])
def test_an_empty_reference(session: Session, folder: Path, ref: str) -> None:
    answer = ingest(session, text_pdf(folder / "a.pdf", PROSE), ref)
    assert "application_ref" in refusal(answer, "invalid_input")
