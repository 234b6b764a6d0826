import hashlib
import os
from pathlib import Path

import pytest

from quinion.errors import ExtractionFailed, StoreUnavailable
from quinion.store.blobs import STEP, FolderBlobs


@pytest.fixture
def original(tmp_path: Path) -> Path:
    path = tmp_path / "original.pdf"
    path.write_bytes(b"content")
    return path


SHA256 = hashlib.sha256(b"content").hexdigest()


def test_a_file_is_kept_under_the_hash_of_its_content(original: Path, tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path / "kept")
    blobs.keep(original, SHA256)
    blobs.keep(original, SHA256)
    blobs.mark_listed(SHA256)
    original.unlink()
    assert blobs.path(SHA256).read_bytes() == b"content"
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [SHA256]
    blobs.drop(SHA256)
    blobs.drop(SHA256)
    assert not blobs.path(SHA256).exists()


def test_a_file_that_has_changed_is_not_kept(original: Path, tmp_path: Path) -> None:
    original.write_bytes(b"more content")
    blobs = FolderBlobs(tmp_path / "kept")
    with pytest.raises(ExtractionFailed, match="changed"):
        blobs.keep(original, SHA256)
    blobs.drop(SHA256)
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_changed_original_leaves_the_copy_as_it_was(original: Path, tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path / "kept")
    blobs.keep(original, SHA256)
    with original.open("r+b") as file:  # in place, as an editor of PDF metadata does
        file.write(b"C")
    assert blobs.path(SHA256).read_bytes() == b"content"


def test_a_large_file_is_copied_whole(tmp_path: Path) -> None:
    content = os.urandom(3 * STEP + 1)
    large = tmp_path / "large.pdf"
    large.write_bytes(content)
    blobs = FolderBlobs(tmp_path / "kept")
    blobs.keep(large, hashlib.sha256(content).hexdigest())
    assert blobs.path(hashlib.sha256(content).hexdigest()).read_bytes() == content


def test_a_dead_process_leaves_marks_and_no_partial_copies(original: Path, tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path / "kept")
    assert blobs.sweep() == []
    blobs.keep(original, SHA256)
    (tmp_path / "kept" / "copying-of-a-dead-process").write_bytes(b"half")
    assert blobs.sweep() == [SHA256]
    blobs.mark_listed(SHA256)
    assert blobs.sweep() == []
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [SHA256]


def test_files_of_another_folder_are_adopted_with_their_marks(
    original: Path, tmp_path: Path
) -> None:
    earlier = FolderBlobs(tmp_path / "earlier")
    earlier.keep(original, SHA256)
    blobs = FolderBlobs(tmp_path / "kept")
    blobs.adopt(tmp_path / "earlier")
    blobs.adopt(tmp_path / "earlier")
    assert blobs.path(SHA256).read_bytes() == b"content"
    assert blobs.sweep() == [SHA256]
    assert not (tmp_path / "earlier").exists()


def test_a_folder_that_cannot_be_written_is_an_error_that_names_it(
    original: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="file/kept"):
        FolderBlobs(tmp_path / "file" / "kept").keep(original, SHA256)
