from pathlib import Path

import pytest

from quinion.errors import FileMissing, InvalidInput
from quinion.ingest.folders.scan import check_folder, find_files

TEXT = frozenset({".txt"})


def found(folder: Path, *, recursive: bool = True) -> list[str]:
    paths = []
    for path in find_files(folder, TEXT, recursive=recursive):
        assert isinstance(path, Path)
        paths.append(str(path.relative_to(folder)))
    return paths


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")


def test_documents_are_found_in_order_and_hidden_ones_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "b.txt", "a.TXT", "c.md", ".hidden.txt", ".git/d.txt", "sub/e.txt")
    assert found(tmp_path) == ["a.TXT", "b.txt", "sub/e.txt"]
    assert found(tmp_path, recursive=False) == ["a.TXT", "b.txt"]


def test_links_to_folders_are_followed_and_loops_of_them_end(tmp_path: Path) -> None:
    write(tmp_path, "top/a.txt", "elsewhere/b.txt")
    (tmp_path / "top" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "back").symlink_to(tmp_path / "top")
    (tmp_path / "top" / "self").symlink_to(tmp_path / "top")
    (tmp_path / "top" / "nowhere").symlink_to(tmp_path / "missing")
    assert found(tmp_path / "top") == ["a.txt", "link/b.txt"]


def test_a_link_that_leads_nowhere_is_found_and_is_for_others_to_refuse(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to(tmp_path / "missing")
    assert found(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("name", ["missing", "a\0b", "x" * 300])
def test_a_missing_path_is_reported(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileMissing, match="Directory not found"):
        check_folder(tmp_path / name)


def test_a_file_is_reported_as_not_a_folder(tmp_path: Path) -> None:
    write(tmp_path, "a.txt")
    with pytest.raises(InvalidInput, match="Not a directory"):
        check_folder(tmp_path / "a.txt")


def test_a_file_name_that_is_not_text_is_a_printable_error(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "b\udcff.txt", "c\n.txt")
    first, error, last = find_files(tmp_path, TEXT, recursive=True)
    assert [first, last] == [tmp_path / "a.txt", tmp_path / "c\n.txt"]
    assert isinstance(error, OSError)
    assert error.filename == f"{tmp_path}/b\ufffd.txt"
