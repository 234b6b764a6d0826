from pathlib import Path

import pytest

from quinion.cli.documents.file_selection import find_documents
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
