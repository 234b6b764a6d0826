import io
from pathlib import Path

import pytest

from quinion.servers.ocr_api import uploads as module
from quinion.servers.ocr_api.problems import Problem
from quinion.servers.ocr_api.uploads import MAX_AGE_S, MAX_FILES, Files, open_files


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def files(tmp_path: Path, clock: Clock) -> Files:
    return Files(tmp_path, clock)


def add(files: Files, content: bytes = b"content") -> str:
    return files.add("../../name.pdf", "application/pdf", io.BytesIO(content)).id


def test_a_file_is_kept_under_a_name_of_ours(files: Files, tmp_path: Path) -> None:
    file = files.find(add(files))
    assert file.path.parent == tmp_path
    assert file.path.read_bytes() == b"content"
    assert (file.name, file.size) == ("../../name.pdf", 7)


def test_a_file_that_was_deleted_is_gone(files: Files, tmp_path: Path) -> None:
    file_id = add(files)
    files.delete(file_id)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Problem, match="No such file"):
        files.find(file_id)


def test_a_file_that_has_grown_old_is_gone(files: Files, clock: Clock, tmp_path: Path) -> None:
    file_id = add(files)
    clock.now += MAX_AGE_S
    assert files.find(file_id)
    clock.now += 1
    with pytest.raises(Problem, match="No such file"):
        files.find(file_id)
    assert list(tmp_path.iterdir()) == []


def test_there_are_only_so_many(files: Files, clock: Clock, tmp_path: Path) -> None:
    for _ in range(MAX_FILES):
        add(files)
    with pytest.raises(Problem) as refusal:
        add(files)
    assert refusal.value.status == 429
    assert len(list(tmp_path.iterdir())) == MAX_FILES
    clock.now += MAX_AGE_S + 1
    add(files)


def test_a_file_that_is_too_large_is_not_kept(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 3)
    with pytest.raises(Problem) as refusal:
        add(files)
    assert refusal.value.status == 413
    assert list(tmp_path.iterdir()) == []


def test_a_signed_address_is_good_for_its_hours_and_its_file(files: Files, clock: Clock) -> None:
    file_id, other = add(files), add(files)
    address = "http://any.host" + files.sign(file_id, 1)
    found = files.find_signed(address)
    assert found is not None
    assert found.id == file_id
    assert files.find_signed(address.replace(file_id, other)) is None
    clock.now += 3601
    assert files.find_signed(address) is None


@pytest.mark.parametrize(
    "address", ["", "http://[", "http://x/signed/a?expires=x&signature=y", "data:,", "\0"]
)
def test_other_addresses_are_not_ours(files: Files, address: str) -> None:
    assert files.find_signed(address) is None


def test_the_folder_is_gone_with_the_store() -> None:
    with open_files() as files:
        path = files.find(add(files)).path
        assert path.exists()
    assert not path.parent.exists()
