"""Folder written by `quinion library export`, with elements of all types."""

import io
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

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
    assert page.text.count(HOSTILE) == 7  # title, heading, two indexes, label, caption, formula
    assert {path.name for path in (tmp_path / "out").iterdir()} == page.targets | {"index.html"}


def test_elements_of_one_name_have_files_of_their_own(tmp_path: Path) -> None:
    labels = ["Figure 1", "FIGURE 1", "図1", "図2", "", "x" * 500, "x" * 501]
    with Gallery(tmp_path / "out", "Title") as gallery:
        for number, label in enumerate(labels):
            gallery.add(element(label), str(number).encode())
    pictures = {path.read_text() for path in (tmp_path / "out").glob("*.png")}
    assert pictures == {str(number) for number in range(len(labels))}
    assert len(Links(tmp_path / "out" / "index.html").targets) == len(labels)


def test_elements_are_indexed_by_type_and_by_page(tmp_path: Path) -> None:
    with Gallery(tmp_path / "out", "Title") as gallery:
        gallery.add(element("Table 1", element_type="table", page_number=2), b"png")
        gallery.add(element("Figure 1", page_number=10), b"png")
        gallery.add(element("Figure 2", page_number=2), b"png")
    page = (tmp_path / "out" / "index.html").read_text()
    by_type, by_page = (
        re.sub(r"<[^>]+>", "", one).split("\n")
        for one in re.findall(r"<nav.*?</nav>", page, re.DOTALL)
    )
    lists = [[line for line in one if line] for one in (by_type, by_page)]
    assert lists == [
        ["Figure", "Figure 1, page 10", "Figure 2, page 2", "Table", "Table 1, page 2"],
        ["Page 2", "Table 1", "Figure 2", "Page 10", "Figure 1"],
    ]
    links = set(re.findall(r'href="#([^"]+)"', page))
    assert links == set(re.findall(r'<figure id="([^"]+)"', page))
    assert len(links) == 3


def test_images_are_loaded_when_they_are_scrolled_to(tmp_path: Path) -> None:
    with Gallery(tmp_path / "out", "Title") as gallery:
        gallery.add(element("Figure 1"), encode_png(30, 20))
    page = (tmp_path / "out" / "index.html").read_text()
    [image] = re.findall(r"<img[^>]*>", page)
    assert 'loading="lazy"' in image
    assert 'width="30" height="20"' in image  # room is kept for it


def encode_png(width: int, height: int) -> bytes:
    file = io.BytesIO()
    Image.new("L", (width, height)).save(file, "PNG")
    return file.getvalue()


def test_nothing_is_left_of_an_export_that_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), Gallery(tmp_path / "out", "Title") as gallery:
        gallery.add(element("Figure 1"), b"png")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
