"""Each question of the newcomer's page has one path that exists and at most three lines."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "newcomers.md"
QUESTIONS = dict(
    re.findall(r"^## ([^\n]+\?)\n\n(.+?)(?=\n\n## |\Z)", PAGE.read_text(), re.M | re.S)
)
BASES = (ROOT, ROOT / "src" / "quinion")


def test_there_are_ten_questions() -> None:
    assert len(QUESTIONS) == PAGE.read_text().count("\n## ") == 10


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answer_is_one_path_that_exists_and_at_most_three_lines(question: str) -> None:
    path, _, lines = QUESTIONS[question].partition("\n\n")
    assert re.fullmatch(r"`[\w/.]+`", path), path
    assert (ROOT / path.strip("`")).is_file(), path
    assert 1 <= len(lines.strip().splitlines()) <= 3


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_other_path_in_the_answer_exists(question: str) -> None:
    path, _, lines = QUESTIONS[question].partition("\n\n")
    bases = (*BASES, ROOT / Path(path.strip("`")).parent)
    named = re.findall(r"`([\w/.]+(?:/|\.py|/\w+))`", lines)
    missing = [one for one in named if not any((base / one).exists() for base in bases)]
    assert missing == []


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/design.md"])
def test_the_page_is_linked(page: str) -> None:
    assert "newcomers.md)" in (ROOT / page).read_text()
