"""A policy against copies with sixty edits: every edit is found, and nothing else."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from quinion.compare.revisions import compare
from quinion.extract.document import Options, inspect
from quinion.extract.pdf.lines import read_lined_pages
from quinion.model.comparison import Change, SectionText
from quinion.model.line import Line
from tests.policy_texts import policy_lines
from tests.seeded_edits import EDITS, edit, found_by, misread, sections_of

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


def check_misread(sections: Sequence[SectionText], share: float, seed: int) -> None:
    """Check that most sections with misread letters are unchanged, and that nothing is moved."""
    read = misread(sections, share, seed)
    noisy = sum(one.text != other.text for one, other in zip(sections, read, strict=True))
    changed = compare(sections, read).changed
    print(f"{noisy} sections with misread letters, {len(changed)} changed")
    assert noisy > 50
    assert len(changed) <= noisy / 8
    assert {row.change for row in changed} <= {Change.REWORDED}


@pytest.mark.parametrize("share", [0.01, 0.04])
def test_misread_letters_are_no_change_of_every_paragraph(share: float) -> None:
    check_misread(sections_of(policy_lines()), share, 1)


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS, reason="set QUINION_CORPUS to the folder of documents")
class TestFramework:
    @pytest.mark.parametrize("seed", range(10))
    def test_sixty_edits_are_found_and_nothing_else(self, seed: int) -> None:
        check(read_lines(NPPF), seed)

    @pytest.mark.parametrize("share", [0.01, 0.04])
    def test_misread_letters_are_no_change_of_every_paragraph(self, share: float) -> None:
        check_misread(sections_of(read_lines(NPPF)), share, 1)

    def test_the_same_text_saved_again_is_unchanged(self) -> None:
        saved = read_lines(NPPF.replace(".pdf", "_resaved.pdf"))
        found = compare(sections_of(read_lines(NPPF)), sections_of(saved))
        assert found.changed == []
        assert not any(row.differences for row in found.rows)


def read_lines(name: str) -> list[Line]:
    path, options = Path(CORPUS, name), Options(ocr=False)
    pages = read_lined_pages(path, 1, inspect(path, options).page_count, options)
    return [line for page in pages for line in page.lines]
