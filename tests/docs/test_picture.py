"""The README shows the product at work, in a picture made from real commands."""

import html
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.picture import COMMANDS, DOCS, FOLDER, PICTURE, record

README = Path(__file__).parents[2] / "README.md"


def read_picture() -> str:
    """The text in the picture, line by line."""
    svg = PICTURE.read_text(encoding="utf-8")
    lines = re.findall(r"<text [^>]*>(.*?)</text>", svg)
    return html.unescape("".join(lines)).replace("\xa0", " ")


def test_the_readme_shows_it() -> None:
    assert f"](docs/{PICTURE.name})" in README.read_text(encoding="utf-8")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_readme_and_the_page_on_evidence_show_the_app_in_the_chat(theme: str) -> None:
    picture = DOCS / f"evidence-{theme}.png"
    assert picture.stat().st_size < 200_000
    assert f'"docs/{picture.name}"' in README.read_text(encoding="utf-8")
    assert f'"{picture.name}"' in (DOCS / "evidence.md").read_text(encoding="utf-8")


def test_it_is_of_the_documented_commands_and_loads_nothing() -> None:
    text = read_picture()
    assert all(command in " ".join(text.split()) for command in COMMANDS)
    svg = PICTURE.read_text(encoding="utf-8")
    ElementTree.fromstring(svg)
    assert re.findall(r"https?://[^\"\s]+", svg) == ["http://www.w3.org/2000/svg"]


def test_it_names_no_folder_of_the_machine_that_made_it() -> None:
    locations = re.findall(r"file:///\S+?#page=\d", read_picture())
    assert len(locations) == len(COMMANDS)
    assert all(one.startswith(f"{FOLDER}/samples/") for one in locations)


def test_it_shows_what_the_first_command_of_the_readme_promises() -> None:
    promise = re.search(r"# 200 …: (\S+, page \d+)", README.read_text(encoding="utf-8"))
    assert promise
    assert promise[1] in read_picture()


@pytest.mark.slow
def test_the_commands_still_cite_the_pages_that_it_shows() -> None:
    shown = read_picture()
    for output in record().values():
        plain = re.sub(r"\x1b\[[\d;]*m", "", output)
        cited = re.findall(r"\w+\.pdf, pages? \d+(?:, \d+)*", plain)
        assert cited
        assert all(one in shown for one in cited)
