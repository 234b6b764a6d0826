"""Additions: office and web files come into the library as PDFs."""

from pathlib import Path

import pytest

from tests.contract.doclibrary.asking import add, failed, find, remove, show
from tests.contract.session import Session
from tests.office_documents import docx, epub, pptx, xlsx

TEXT = "There are 200 covered cycle parking spaces."


def write(folder: Path, name: str) -> Path:
    path = folder / name
    match path.suffix:
        case ".docx":
            return docx(path, ("Heading1", "Cycling"), ("", TEXT))
        case ".pptx":
            return pptx(path, ("Roads", "Two roads.", ""), ("Cycling", TEXT, ""))
        case ".xlsx":
            return xlsx(path, Cycling=[("Spaces", "Note"), (200, TEXT)])
        case ".epub":
            return epub(path, ("Roads", "Two roads."), ("Cycling", TEXT))
    path.write_text(f"<h1>Cycling</h1><p>{TEXT}</p>")
    return path


@pytest.mark.parametrize(
    ("name", "title", "page"),
    [
        ("a.docx", "Cycling", 1),
        ("b.pptx", "Roads", 2),
        ("c.xlsx", "c", 1),
        ("d.epub", "Roads", 2),
        ("e.html", "Cycling", 1),
    ],
)
def test_an_office_file_is_found_by_page_and_shown(
    session: Session, folder: Path, name: str, title: str, page: int
) -> None:
    path = write(folder, name)
    document = add(session, path)
    assert document["source_file"] == name
    assert document["title"] == title
    best = find(session, "covered cycle parking", document_slug=document["slug"])[0]
    assert "200 covered cycle parking spaces" in best["content"]
    assert best["page_number"] == page
    picture = show(session, "get_page_image", document_slug=document["slug"], page_number=page)
    assert min(picture.image.size) > 400
    remove(session, document["slug"])


def test_the_same_office_file_is_added_once(session: Session, folder: Path) -> None:
    first = add(session, write(folder, "same.docx"))
    again = session.call("add_document", file_path=str(write(folder, "copy.docx")))
    assert again["status"] == "already_in_library"
    assert again["document"]["slug"] == first["slug"]


def test_a_damaged_office_file_leaves_nothing(session: Session, folder: Path) -> None:
    (folder / "bad.docx").write_bytes(b"PK\x03\x04 damaged")
    assert "bad.docx is damaged" in failed(
        session, "add_document", file_path=str(folder / "bad.docx")
    )
