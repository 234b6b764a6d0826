"""A policy against copies with sixty edits: every edit is found, and nothing else."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from quinion.compare.revisions import compare
from quinion.extract.document import Options, inspect
from quinion.extract.pdf.lines import read_lined_pages
from quinion.model.line import Line
from tests.policy_texts import policy_lines
from tests.seeded_edits import EDITS, edit, found_by, sections_of

CORPUS = os.environ.get("QUINION_CORPUS", "")
NPPF = "planning/nppf/NPPF_2024-12.pdf"


def check(lines: Sequence[Line], seed: int) -> None:
    copy = edit(lines, seed)
    found = compare(sections_of(lines), sections_of(copy.lines))
    assert found_by(found) == copy.rows
    reworded = {
        tuple(one.ref for one in row.before): set(row.flags)
        for row in found.rows
        if row.is_reworded and row.before and row.after
    }
    assert reworded == copy.reworded


def test_there_are_sixty_edits() -> None:
    assert sum(EDITS.values()) == 60


@pytest.mark.parametrize("seed", range(4))
def test_sixty_edits_of_a_policy_are_found_and_nothing_else(seed: int) -> None:
    check(policy_lines(), seed)


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS, reason="set QUINION_CORPUS to the folder of documents")
class TestFramework:
    @pytest.mark.parametrize("seed", range(10))
    def test_sixty_edits_are_found_and_nothing_else(self, seed: int) -> None:
        check(read_lines(NPPF), seed)

    def test_the_same_text_saved_again_is_unchanged(self) -> None:
        saved = read_lines(NPPF.replace(".pdf", "_resaved.pdf"))
        found = compare(sections_of(read_lines(NPPF)), sections_of(saved))
        assert found.changed == []
        assert not any(row.differences for row in found.rows)


def read_lines(name: str) -> list[Line]:
    path, options = Path(CORPUS, name), Options(ocr=False)
    pages = read_lined_pages(path, 1, inspect(path, options).page_count, options)
    return [line for page in pages for line in page.lines]
