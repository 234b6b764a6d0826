"""The pages that are written from the code say what the code says now."""

from pathlib import Path

import pytest

from docs.generate import DOCS, END, NOTE, make_pages

GENERATED = ["reference.md", "commands.md", "settings.md"]


@pytest.fixture(scope="module")
def pages() -> dict[Path, str]:
    return make_pages()


def test_all_generated_pages_are_known(pages: dict[Path, str]) -> None:
    assert [page.name for page in pages] == GENERATED


@pytest.mark.parametrize("name", GENERATED)
def test_the_page_is_what_the_code_says(pages: dict[Path, str], name: str) -> None:
    page = DOCS / name
    assert page.read_text(encoding="utf-8") == pages[page], "It is stale: run `make docs`."


def test_the_settings_have_both_marks() -> None:
    text = (DOCS / "settings.md").read_text(encoding="utf-8")
    assert text.count(NOTE) == text.count(END) == 1
    assert text.index(NOTE) < text.index(END)
