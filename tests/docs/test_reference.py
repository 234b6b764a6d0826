"""The generated pages are up to date."""

import re
from pathlib import Path

import pytest

from docs.generate import DOCS, END, NOTE, make_pages

GENERATED = [
    "reference.md",
    "commands.md",
    "settings.md",
    "traceability/document-store.md",
    "traceability/policy-kb.md",
    "traceability/docvec.md",
    "traceability/doclibrary.md",
    "traceability/mistral-ocr.md",
]
IN_PART = GENERATED[2:]


@pytest.fixture(scope="module")
def pages() -> dict[Path, str]:
    return make_pages()


def test_all_generated_pages_are_known(pages: dict[Path, str]) -> None:
    assert [page.relative_to(DOCS).as_posix() for page in pages] == GENERATED


@pytest.mark.parametrize("name", GENERATED)
def test_the_page_matches_the_code(pages: dict[Path, str], name: str) -> None:
    page = DOCS / name
    assert page.read_text(encoding="utf-8") == pages[page], "It is stale: run `make docs`."


@pytest.mark.parametrize("name", IN_PART)
def test_a_page_that_is_generated_in_part_has_both_marks(name: str) -> None:
    text = (DOCS / name).read_text(encoding="utf-8")
    assert text.count(NOTE) == text.count(END) == 1
    assert text.index(NOTE) < text.index(END)


@pytest.mark.parametrize("page", sorted((DOCS / "traceability").glob("*.md")), ids=lambda p: p.name)
def test_every_sentence_of_a_contract_has_a_test_or_a_remark(page: Path) -> None:
    rows = re.findall(r"^\| (.*) \| (.*) \|$", page.read_text(encoding="utf-8"), re.M)
    sentences = [row for row in rows if not row[0].startswith(("**", "---", "the contract says"))]
    assert sentences
    assert [sentence for sentence, tests in sentences if not tests.strip()] == []


@pytest.mark.parametrize("page", sorted((DOCS / "traceability").glob("*.md")), ids=lambda p: p.name)
def test_every_file_that_a_traceability_page_names_exists(page: Path) -> None:
    named = re.findall(r"`((?:packages/[\w-]+/)?(?:src|tests)/[\w/.-]+)", page.read_text("utf-8"))
    assert named
    assert [path for path in sorted(set(named)) if not (DOCS.parent / path).exists()] == []
