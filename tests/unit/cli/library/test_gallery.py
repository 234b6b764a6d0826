"""Folder written by `quinion library export`, with elements of all types."""

from pathlib import Path
from typing import Any

import pytest

from quinion.cli.library.gallery import Gallery
from tests.unit.cli.library.test_library import Links

HOSTILE = "<script>alert('x')</script> \"&' ../../etc/passwd"


def element(label: str, **more: Any) -> dict[str, Any]:
    return {
        "element_label": label,
        "element_type": "figure",
        "page_number": 1,
        "description": "",
        "table_csv": None,
        "latex": None,
        **more,
    }


def test_labels_captions_and_titles_are_text_and_never_markup(tmp_path: Path) -> None:
    with Gallery(tmp_path / "out", HOSTILE) as gallery:
        gallery.add(element(HOSTILE, description=HOSTILE, latex=HOSTILE, table_csv="a,b\n"), b"png")
    page = Links(tmp_path / "out" / "index.html")
    assert "script" not in page.tags
    assert page.text.count(HOSTILE) == 5  # title, heading, label, caption, formula
    assert {path.name for path in (tmp_path / "out").iterdir()} == page.targets | {"index.html"}


def test_elements_of_one_name_have_files_of_their_own(tmp_path: Path) -> None:
    labels = ["Figure 1", "FIGURE 1", "図1", "図2", "", "x" * 500, "x" * 501]
    with Gallery(tmp_path / "out", "Title") as gallery:
        for number, label in enumerate(labels):
            gallery.add(element(label), str(number).encode())
    pictures = {path.read_text() for path in (tmp_path / "out").glob("*.png")}
    assert pictures == {str(number) for number in range(len(labels))}
    assert len(Links(tmp_path / "out" / "index.html").targets) == len(labels)


def test_nothing_is_left_of_an_export_that_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), Gallery(tmp_path / "out", "Title") as gallery:
        gallery.add(element("Figure 1"), b"png")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
