import hashlib
import os
from pathlib import Path

import pytest

from quinion.errors import ExtractionFailed, FileMissing, UnsupportedFile
from quinion.ingest.source import Digests, check_unchanged, open_source

PDF = frozenset({".pdf"})
EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "Document.PDF"
    path.write_bytes(b"")
    return path


def test_a_file_is_admitted_with_the_hash_of_its_content(file: Path) -> None:
    source = open_source(str(file), PDF, [])
    assert (source.path, source.sha256) == (file, EMPTY_SHA256)


@pytest.mark.parametrize("text", ["missing.pdf", "/no/such.pdf", "", "/a\0b.pdf", "/" + "x" * 5000])
def test_a_missing_path_is_reported(text: str) -> None:
    with pytest.raises(FileMissing, match="File not found"):
        open_source(text, PDF, [])


def test_a_folder_is_reported_as_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FileMissing, match="folder"):
        open_source(str(tmp_path), PDF, [])


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pdf")
    with pytest.raises(FileMissing, match="ordinary"):
        open_source(str(tmp_path / "pipe.pdf"), PDF, [])


def test_another_extension_is_refused_with_those_that_are_not(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_text("x")
    with pytest.raises(UnsupportedFile, match=r"\.docx.*\.pdf"):
        open_source(str(tmp_path / "a.docx"), PDF, [])


def test_outside_the_roots_is_answered_like_not_there(file: Path, tmp_path: Path) -> None:
    roots = [tmp_path / "allowed"]
    with pytest.raises(FileMissing) as outside:
        open_source(str(file), PDF, roots)
    with pytest.raises(FileMissing) as missing:
        open_source(str(file) + "x", PDF, roots)
    assert str(missing.value) == str(outside.value).replace(str(file), str(file) + "x")


def test_a_link_out_of_the_roots_is_outside(file: Path, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (allowed / "link.pdf").symlink_to(file)
    with pytest.raises(FileMissing):
        open_source(str(allowed / "link.pdf"), PDF, [allowed])
    with pytest.raises(FileMissing):
        open_source(str(allowed / ".." / file.name), PDF, [allowed])


def test_a_link_keeps_the_name_that_was_asked_for(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link.pdf").symlink_to(file)
    source = open_source(str(tmp_path / "link.pdf"), PDF, [])
    assert (source.path.name, source.real_path) == ("link.pdf", file.resolve())


def test_a_file_that_changed_or_went_is_noticed(file: Path) -> None:
    source = open_source(str(file), PDF, [])
    check_unchanged(source)
    file.write_text("more")
    with pytest.raises(ExtractionFailed, match="changed while"):
        check_unchanged(source)
    file.unlink()
    with pytest.raises(ExtractionFailed, match="changed while"):
        check_unchanged(source)


def test_a_file_is_hashed_once_for_as_long_as_it_stays_as_it_is(file: Path) -> None:
    long_ago = 1_000_000_000
    digests = Digests()
    for content in ("one", "two"):
        file.write_text(content)
        os.utime(file, (long_ago, long_ago))
        assert digests(file) == hashlib.sha256(content.encode()).hexdigest()


def test_a_file_that_was_just_touched_is_hashed_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = Digests()
    before = digests(file)
    monkeypatch.setattr("quinion.ingest.source.hash_file", lambda _: "another")
    assert (before, digests(file)) == (EMPTY_SHA256, "another")
    # A file that has not changed for a while is not hashed again.
    monkeypatch.setattr("time.time", lambda: file.stat().st_ctime + 10)
    assert digests(file) == "another"
    monkeypatch.setattr("quinion.ingest.source.hash_file", lambda _: "not called")
    assert digests(file) == "another"
