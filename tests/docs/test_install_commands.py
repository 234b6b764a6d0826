"""No document or message installs from a package index what is not there.

`quinion` is not published, and `mistral-ocr-mcp` on the public index is another company's package.
"""

import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "packages/mistral-ocr-mcp").glob("*.md")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
]
SOURCES = [
    *sorted((ROOT / "src").rglob("*.py")),
    *sorted((ROOT / "packages/mistral-ocr-mcp/src").rglob("*.py")),
    *(ROOT / "deploy" / name for name in ("Dockerfile", "docker-compose.yml")),
]

INSTALLER = r"(?:uvx|uv tool (?:run|install)|pipx (?:run|install)|(?:uv )?pip install)"
OURS = r"(?:quinion|mistral-ocr-mcp)(?![\w/.])"
FROM_INDEX = re.compile(rf"{INSTALLER}(?: -[\w-]+)*\s+['\"]?{OURS}")
OF_OURS = re.compile(r"uvx --from \S*(packages/mistral-ocr-mcp|\.whl) mistral-ocr-mcp")


def find_index_installs(text: str) -> list[str]:
    """Commands that take our packages from an index, and client entries that do."""
    entries = re.findall(r'"command": "uvx",\s*"args": (\[[^]]*\])', text)
    return [
        *(match[0] for match in FROM_INDEX.finditer(text)),
        *(entry for entry in entries if "--from" not in json.loads(entry)),
    ]


@pytest.mark.parametrize("page", [*PAGES, *SOURCES], ids=lambda path: str(path.relative_to(ROOT)))
def test_no_instruction_takes_our_packages_from_an_index(page: Path) -> None:
    assert find_index_installs(page.read_text()) == []


@pytest.mark.parametrize(
    "text",
    [
        "uvx mistral-ocr-mcp",
        "pip install 'quinion[redis]'",
        "pipx install quinion",
        "uv tool install --upgrade quinion",
        '"command": "uvx",\n "args": ["mistral-ocr-mcp"]',
    ],
)
def test_such_an_instruction_is_found(text: str) -> None:
    assert find_index_installs(text)


@pytest.mark.parametrize(
    "text",
    ["uvx --from ./packages/mistral-ocr-mcp mistral-ocr-mcp", "pip install ./dist/quinion.whl"],
)
def test_an_instruction_with_a_folder_or_wheel_is_not_found(text: str) -> None:
    assert not find_index_installs(text)


@pytest.mark.parametrize("page", ["docs/mistral-ocr.md", "packages/mistral-ocr-mcp/README.md"])
def test_the_pages_of_mistral_ocr_name_the_command_that_runs_ours_and_why(page: str) -> None:
    text = (ROOT / page).read_text()
    assert OF_OURS.search(text)
    assert "another company" in text


def test_the_readme_names_the_command_that_runs_ours() -> None:
    assert OF_OURS.search((ROOT / "README.md").read_text())


def test_a_message_about_an_extra_names_packages_of_that_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    packages = {one for extra in project["optional-dependencies"].values() for one in extra}
    named = {
        requirement
        for path in SOURCES
        for requirement in re.findall(r"pip install '([^']+)'", path.read_text())
    }
    assert named
    assert named <= packages


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_commands_can_be_copied(page: str) -> None:
    """An ellipsis stands for something that the reader does not have, except in a comment."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    commands = [line.partition("#")[0] for block in blocks for line in block.splitlines()]
    assert [line for line in commands if "…" in line or "..." in line] == []
