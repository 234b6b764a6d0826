import hashlib
from pathlib import Path

import pytest

from quinion.errors import ExtractionFailed, StoreUnavailable
from quinion.store.blobs import Blobs


@pytest.fixture
def original(tmp_path: Path) -> Path:
    path = tmp_path / "original.pdf"
    path.write_bytes(b"content")
    return path


SHA256 = hashlib.sha256(b"content").hexdigest()


def test_a_file_is_kept_under_the_hash_of_its_content(original: Path, tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "kept")
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
    blobs = Blobs(tmp_path / "kept")
    with pytest.raises(ExtractionFailed, match="changed"):
        blobs.keep(original, SHA256)
    blobs.drop(SHA256)
    assert list((tmp_path / "kept").iterdir()) == []


def test_unlisted_files_of_a_dead_process_are_removed(original: Path, tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "kept")
    blobs.sweep([])
    blobs.keep(original, SHA256)
    (tmp_path / "kept" / "copying-of-a-dead-process").write_bytes(b"half")
    blobs.sweep([])
    assert list((tmp_path / "kept").iterdir()) == []


def test_listed_files_stay_even_if_the_list_is_empty(original: Path, tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "kept")
    blobs.keep(original, SHA256)
    blobs.sweep([SHA256])
    blobs.sweep([])
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [SHA256]
    blobs.mark_unlisted(SHA256)
    blobs.sweep([])
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_an_error_that_names_it(
    original: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="file/kept"):
        Blobs(tmp_path / "file" / "kept").keep(original, SHA256)
