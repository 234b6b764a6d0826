"""Additions: files in languages that the local model was not made for are named once."""

from pathlib import Path

from tests.contract.docvec.asking import index, write
from tests.contract.session import Session
from tests.documents import PROSE
from tests.unit.lexical.test_language import OTHERS


def test_one_warning_names_the_files_of_a_folder(empty: Session, folder: Path) -> None:
    german = OTHERS["German"] * 30
    write(folder, {"a.md": german, "b.txt": german + "Ende.", "c.md": PROSE * 5, "d.py": "x = 1\n"})
    [warning] = empty.call("index_directory", dir_path=str(folder))["data"]["warnings"]
    assert "not in English: a.md, b.txt." in warning
    assert "docs/embedding.md" in warning


def test_a_single_file_is_warned_of_and_english_is_not(empty: Session, folder: Path) -> None:
    write(folder, {"a.md": OTHERS["French"] * 30, "b.md": PROSE * 5})
    answer = empty.call("index_file", file_path=str(folder / "a.md"))["data"]
    assert "not in English: a.md." in answer["warnings"][0]
    assert "warnings" not in index(empty, folder / "b.md")
