"""What is opened is what was resolved."""

import os
import sys
from pathlib import Path

import pytest

from quinion.ingest.source import hash_file
from quinion.workers.safe_open import open_resolved, open_safely


def read(path: Path) -> bytes:
    with os.fdopen(open_resolved(path), "rb") as file:
        return file.read()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "inside" / "deep" / "letter.txt"
    path.parent.mkdir(parents=True)
    path.write_text("a letter")
    outside = tmp_path / "outside" / "deep"
    outside.mkdir(parents=True)
    (outside / "letter.txt").write_text("a secret")
    return path


def test_a_file_is_opened(file: Path) -> None:
    assert read(file) == b"a letter"


@pytest.mark.parametrize("above", (0, 1, 2))
def test_a_link_on_the_way_is_not_followed(file: Path, above: int) -> None:
    part = [file, *file.parents][above]
    there = Path(str(part).replace("inside", "outside", 1))
    part.rename(part.with_name("aside"))
    part.symlink_to(there)
    assert file.read_text() == "a secret"  # by its name
    with pytest.raises(OSError, match=r"(?i)symbolic|directory"):
        read(file)


def test_what_is_hashed_is_reached_through_no_link(file: Path, tmp_path: Path) -> None:
    assert len(hash_file(file)) == 64
    (tmp_path / "link").symlink_to(file.parent)
    with pytest.raises(OSError, match=r"(?i)symbolic|directory"):
        hash_file(tmp_path.resolve() / "link" / file.name)


def test_a_pipe_in_its_place_holds_nobody_up(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)
    assert read(file) == b""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has paths of open files")
def test_what_is_held_stays_what_it_was(file: Path) -> None:
    with open_safely(file) as held:
        file.rename(file.with_name("aside"))
        file.symlink_to(Path(str(file.parent).replace("inside", "outside", 1)) / file.name)
        assert (held.name, held.read_text(), held.read_text()) == (
            file.name,
            "a letter",
            "a letter",
        )
    assert not held.exists()
    assert not held.is_symlink()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_that_may_not_be_listed_is_passed_through(file: Path) -> None:
    file.parent.chmod(0o111)
    try:
        assert read(file) == b"a letter"
    finally:
        file.parent.chmod(0o755)
