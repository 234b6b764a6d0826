"""Which files are read where `QUINION_READ_ROOTS` is set."""

from pathlib import Path

import pytest

from mistral_ocr_mcp.errors import Failure
from mistral_ocr_mcp.settings import read_settings
from mistral_ocr_mcp.source import open_source


def test_what_is_outside_of_the_read_roots_is_answered_like_what_is_not_there(
    tmp_path: Path,
) -> None:
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    for path in (root / "folder" / "in.pdf", tmp_path / "out.pdf"):
        path.write_bytes(b"%PDF")
    (root / "link.pdf").symlink_to(tmp_path / "out.pdf")
    with open_source(str(root / "folder" / "in.pdf"), (root,)) as source:
        assert source.stream.read() == b"%PDF"
    for path in (tmp_path / "out.pdf", root / "link.pdf", root / "nothing.pdf"):
        with pytest.raises(Failure) as refused, open_source(str(path), (root,)):
            pass
        assert str(refused.value) == f"File not found: {str(path)!r}"


def test_the_roots_are_separated_like_path(tmp_path: Path) -> None:
    settings = read_settings(
        {
            "MISTRAL_API_KEY": "key",
            "MISTRAL_OCR_ALLOWED_DIR": str(tmp_path),
            "QUINION_READ_ROOTS": f"{tmp_path}:/nowhere:",
        }
    )
    assert settings.read_roots == (tmp_path.resolve(), Path("/nowhere"))
