from pathlib import Path

import pytest

from quinion.cli.documents.file_selection import describe_skipped, find_documents
from quinion.errors import FileMissing


def test_folders_give_their_documents_and_files_are_taken_as_they_are(tmp_path: Path) -> None:
    for name in ("a.pdf", "sub/b.PDF", "sub/c.txt", ".hidden/d.pdf", "sub/.e.pdf", "f.docx"):
        path = tmp_path / "folder" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    folder = tmp_path / "folder"
    named = folder / "f.docx"
    assert find_documents([folder, named, folder / "a.pdf"], {".pdf"}) == [
        folder / "a.pdf",
        folder / "sub/b.PDF",
        named,
    ]


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileMissing, match="nope"):
        find_documents([tmp_path / "nope"], {".pdf"})


def test_files_of_other_types_are_counted_and_named_by_extension(tmp_path: Path) -> None:
    for name in ("a.pdf", "b.docx", "sub/c.DOCX", "sub/d.xlsx", "Makefile", ".git/e.txt", ".f.md"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    described = describe_skipped([tmp_path, tmp_path / "sub"], {".pdf"})
    head, _, kinds = described.partition(": ")
    assert head == "4 files skipped because of their type"
    assert sorted(kinds.split(", ")) == ["1 .xlsx", "1 without extension", "2 .docx"]
    assert describe_skipped([tmp_path], {".pdf"}, recursive=False).startswith("2 files skipped")
    assert describe_skipped([tmp_path / "b.docx"], {".pdf"}) == ""
