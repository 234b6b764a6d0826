from pathlib import Path

import pytest

from quinion.store.word_files import WordFiles

KEY = "a" * 64


def test_pages_are_read_one_by_one_and_all_together(tmp_path: Path) -> None:
    files = WordFiles(tmp_path / "words")
    files.write(KEY, {1: b"one", 7: b"seven"})
    assert files.read(KEY, 1) == b"one"
    assert files.read(KEY, 7) == b"seven"
    assert files.read(KEY, 2) is None
    assert files.read_all(KEY) == {1: b"one", 7: b"seven"}


def test_later_pages_are_added_and_replace_their_own(tmp_path: Path) -> None:
    files = WordFiles(tmp_path)
    files.write(KEY, {1: b"one", 2: b"two"})
    files.write(KEY, {2: b"second", 3: b"three"})
    assert files.read_all(KEY) == {1: b"one", 2: b"second", 3: b"three"}
    assert [path.name for path in tmp_path.iterdir()] == [KEY]


def test_a_file_that_is_gone_has_no_pages(tmp_path: Path) -> None:
    files = WordFiles(tmp_path)
    files.write(KEY, {1: b"one"})
    files.drop(KEY)
    files.drop(KEY)
    assert files.read(KEY, 1) is None
    assert files.read_all(KEY) == {}


@pytest.mark.parametrize("content", [b"", b"QWORDS1\n", b"something else", b"QWORDS1\n\xff\xff"])
def test_a_damaged_file_has_no_pages_and_is_replaced(tmp_path: Path, content: bytes) -> None:
    files = WordFiles(tmp_path)
    files.path(KEY).write_bytes(content)
    assert files.read(KEY, 1) is None
    assert files.read_all(KEY) == {}
    files.write(KEY, {1: b"one"})
    assert files.read(KEY, 1) == b"one"
