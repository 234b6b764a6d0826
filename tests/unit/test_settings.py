from pathlib import Path

import pytest

from quinion.errors import BadSetting
from quinion.settings import Settings


def test_nothing_set_gives_the_defaults_of_the_specs() -> None:
    settings = Settings.from_environment({})
    assert settings.document_store_port == 3002
    assert settings.enable_ocr is True
    assert settings.image_ratio_threshold == 0.7
    assert settings.api_key is None
    assert not settings.chroma_in_memory


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("DOCUMENT_STORE_PORT", "three"),
        ("DOCUMENT_STORE_PORT", "70000"),
        ("ENABLE_OCR", "perhaps"),
        ("IMAGE_RATIO_THRESHOLD", "1.5"),
        ("CHROMA_URL", "localhost:8000"),
        ("QUINION_WORKERS", "0"),
    ],
)
def test_a_value_that_cannot_be_used_names_its_variable(variable: str, value: str) -> None:
    with pytest.raises(BadSetting, match=variable):
        Settings.from_environment({variable: value})


def test_set_but_empty_is_unset() -> None:
    settings = Settings.from_environment({"MCP_API_KEY": "", "ENABLE_OCR": ""})
    assert settings.api_key is None
    assert settings.enable_ocr is True


def test_the_store_is_in_the_home_by_default(tmp_path: Path) -> None:
    home = {"QUINION_HOME": str(tmp_path)}
    elsewhere = str(tmp_path / "elsewhere")
    assert Settings.from_environment(home).chroma_folder == tmp_path / "chroma"
    assert (
        Settings.from_environment({**home, "CHROMA_PERSIST_DIR": elsewhere}).chroma_folder
        == tmp_path / "elsewhere"
    )
    assert Settings.from_environment({**home, "CHROMA_PERSIST_DIR": ""}).chroma_folder is None


def test_lists_are_split_the_way_people_write_them(tmp_path: Path) -> None:
    settings = Settings.from_environment(
        {"QUINION_READ_ROOTS": f"{tmp_path}:/", "QUINION_ALLOWED_HOSTS": "a.example, b.example"}
    )
    assert settings.read_roots == (tmp_path.resolve(), Path("/"))
    assert settings.allowed_hosts == ("a.example", "b.example")


def test_the_token_is_not_shown() -> None:
    assert "s3cret" not in repr(Settings.from_environment({"MCP_API_KEY": "s3cret"}))


def test_a_bucket_is_for_a_store_in_a_database(tmp_path: Path) -> None:
    bucket = {"QUINION_HOME": str(tmp_path), "QUINION_BLOBS_URL": "s3://bucket/folder"}
    with pytest.raises(BadSetting, match=r"QUINION_BLOBS_URL.*QUINION_DATABASE_URL"):
        Settings.from_environment(bucket)
    database = {"QUINION_DATABASE_URL": "postgresql://localhost/x"}
    settings = Settings.from_environment({**bucket, **database})
    assert settings.blobs_url == "s3://bucket/folder"
    assert settings.at(tmp_path / "own").blobs_url is None
