"""Prose is plain technical English: words to avoid, each with a better one.

Checked are the comments, docstrings and strings of the code, the documentation, and the help of
every command. Names of functions and variables are not.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from quinion.cli.groups import GROUPS, load_group
from quinion.cli.main import app

ROOT = Path(__file__).parents[2]
OCR = ROOT / "packages" / "mistral-ocr-mcp"
SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *(OCR / "src").rglob("*.py")])
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    OCR / "README.md",
]
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
SUBCOMMANDS = [(group, name) for group in GROUPS for name in load_group(group).commands]

BETTER = {
    "anew": "again, or a verb like rebuild, reindex, regenerate",
    "amiss": "wrong, a problem, damaged",
    "mend|mends|mended|mending": "repair",
    "whoever": "the caller, the client, the process that",
    "vouch|vouches|vouched|vouching": "verify, check, guarantee",
    "met lately": "recent, cached",
    "said already": "confirmed, given before",
    "(?-i:Say) which": "name, show the version",
    "(?:is|are|was|were) told as": "is reported as",
    "(?:give|gives|gave|given|giving) way": "yield, release, have a lower priority",
    "as well as may be": "as far as possible",
}
"""Patterns of words to avoid, and what to write instead; a space matches a line break as well."""

PATTERNS = {
    re.compile(r"\b(?:" + words.replace(" ", r"\s+") + r")\b", re.IGNORECASE): better
    for words, better in BETTER.items()
}
PROSE = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_code_uses_plain_words(path: Path) -> None:
    assert_plain(path.relative_to(ROOT), keep_prose(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_documentation_uses_plain_words(path: Path) -> None:
    assert_plain(path.relative_to(ROOT), path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("words", [(), *((name,) for name in COMMANDS), *SUBCOMMANDS], ids=" ".join)
def test_the_help_of_a_command_uses_plain_words(words: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    assert_plain(f"quinion {' '.join(words)} --help", shown.output)


@pytest.mark.parametrize(
    "text",
    ["Built ANEW.", "# It is told\n# as lost.", '"it gives "\n"way"', "Whoever calls", "mending"],
)
def test_a_word_to_avoid_is_found(text: str) -> None:
    assert list(find_words(keep_prose(text) if text[0] in '#"' else text))


@pytest.mark.parametrize("text", ["recommend", "amend", "anew_index", "Say what", "mend = 1\n"])
def test_a_plain_word_is_not_found(text: str) -> None:
    assert not list(find_words(keep_prose(text) if "=" in text else text))


def assert_plain(place: object, text: str) -> None:
    found = [f"{place}:{line}: {word!r}; better: {say}" for line, word, say in find_words(text)]
    assert not found, "\n" + "\n".join(found)


def find_words(text: str) -> Iterator[tuple[int, str, str]]:
    """The line of each word to avoid, the word, and what to write instead."""
    for pattern, better in PATTERNS.items():
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield line, " ".join(match[0].split()), better


def keep_prose(source: str) -> str:
    """The comments and strings of a module in their lines; all else is blank.

    Marks of comments and quotes are blank too, so that a phrase is found across lines.
    """
    lines = source.splitlines()
    kept = [[" "] * len(line) for line in lines]
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in PROSE:
            continue
        (first, start), (last, end) = token.start, token.end
        for number in range(first, last + 1):
            line = lines[number - 1]
            columns = slice(start if number == first else 0, end if number == last else len(line))
            kept[number - 1][columns] = re.sub(r"[#\"']", " ", line[columns])
    return "\n".join(map("".join, kept))
