"""`quinion show`: the page of a result in a file or in the terminal, and what is remembered."""

import base64
import io
import re
import stat
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from quinion.cli.documents.last_search import LAST_SEARCH
from quinion.cli.documents.terminal_image import (
    choose_encoding,
    encode_iterm,
    encode_kitty,
    encode_sixel,
)
from tests.unit.cli.conftest import Run

WRONG_USE = 2


def png_of(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def is_marked(path: Path) -> bool:
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB")).reshape(-1, 3)
    return bool(((pixels[:, 0] > 200) & (pixels[:, 2] < 160)).any())


def test_a_result_is_shown_by_its_number_and_by_its_id(
    quinion: Run, filled: Path, files: Path, tmp_path: Path
) -> None:
    found = quinion("search", "cycle parking", "--server", "document-store")
    location = f"{(files / 'Letter.pdf').as_uri()}#page=1"
    assert location in "".join(found.out.split())
    assert stat.S_IMODE((filled / LAST_SEARCH).stat().st_mode) == 0o600
    shown = quinion("show", "1", "--output", str(tmp_path / "a.png"))
    assert shown.status == 0, shown.err
    assert (tmp_path / "a.png").as_uri() in shown.out
    assert "Letter.pdf, page 1 of 2" in shown.out
    assert is_marked(tmp_path / "a.png")
    [result, *_] = quinion("search", "cycle parking", "--server", "document-store", "--json").json[
        "document-store"
    ]["results"]
    again = quinion("show", result["chunk_id"], "--page", "2", "-o", str(tmp_path / "b.png"))
    assert again.status == 0, again.err
    assert "page 2 of 2" in again.out
    written = quinion("show", "1", "--json", "-o", str(tmp_path / "c.png")).json
    assert (written["page"], written["page_count"]) == (1, 2)
    assert (written["chunk_id"], written["note"]) == (result["chunk_id"], None)
    assert is_marked(Path(written["file"]))


def test_a_result_of_the_library_is_shown_too(quinion: Run, filled: Path, tmp_path: Path) -> None:
    assert quinion("search", "cycle parking", "--server", "doclibrary").status == 0
    shown = quinion("show", "1", "--output", str(tmp_path / "a.png"))
    assert shown.status == 0, shown.err
    assert is_marked(tmp_path / "a.png")


def test_without_a_file_the_image_is_written_where_the_answer_says(
    quinion: Run, filled: Path
) -> None:
    quinion("search", "cycle parking", "--server", "document-store")
    shown = quinion("show", "1")
    match = re.search(r"file://(\S+)", shown.out)
    assert match is not None
    path = Path(match[1])
    assert is_marked(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.unlink()


def test_what_cannot_be_shown_is_said(quinion: Run, filled: Path, tmp_path: Path) -> None:
    assert "Run quinion search first" in quinion("show", "1").err
    quinion("search", "text", "--server", "docvec")
    for what, reason in (("99", "there is no 99"), ("nobody", "No server can show 'nobody'")):
        ended = quinion("show", what)
        assert ended.status == WRONG_USE
        assert reason in ended.err
    assert quinion("show", "1").status == 1  # a Markdown file has no pages
    quinion("search", "cycle parking", "--server", "document-store")
    unwritable = quinion("show", "1", "-o", str(tmp_path / "none" / "a.png"))
    assert unwritable.status == 1
    assert "cannot be written" in unwritable.err


@pytest.mark.parametrize(
    ("environment", "encoding"),
    [
        ({"TERM": "xterm-kitty"}, encode_kitty),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, encode_kitty),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, encode_iterm),
        ({"TERM": "foot"}, encode_sixel),
        ({"TERM": "xterm-256color"}, None),
        ({"TERM": "tmux-256color", "KITTY_WINDOW_ID": "1"}, None),
        ({}, None),
    ],
)
def test_a_terminal_gets_the_images_that_it_knows(
    environment: dict[str, str], encoding: object
) -> None:
    assert choose_encoding(environment, is_terminal=True) is encoding
    assert choose_encoding(environment, is_terminal=False) is None


def test_kitty_gets_the_whole_image_in_parts() -> None:
    png = png_of(Image.effect_noise((80, 80), 100))
    parts = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", encode_kitty(png))
    assert len(parts) > 1
    assert parts[0][0] == "a=T,f=100,m=1"
    assert {head for head, _ in parts[1:-1]} <= {"m=1"}
    assert parts[-1][0] == "m=0"
    assert all(len(data) <= 4_096 for _, data in parts)
    assert base64.b64decode("".join(data for _, data in parts)) == png


def test_iterm_gets_the_whole_image() -> None:
    png = png_of(Image.new("RGB", (4, 4), "red"))
    head, _, data = encode_iterm(png).partition(":")
    assert f"size={len(png)}" in head
    assert base64.b64decode(data.removesuffix("\a")) == png


def test_sixels_have_every_pixel() -> None:
    image = Image.new("RGB", (5, 8), "white")
    image.putpixel((2, 1), (255, 0, 0))
    image.putpixel((4, 7), (255, 0, 0))
    text = encode_sixel(png_of(image))
    assert text.startswith('\x1bPq"1;1;5;8#')
    assert text.endswith("\x1b\\")
    [red] = re.findall(r"#(\d+);2;100;0;0", text)
    body = re.sub(r"#\d+;2;\d+;\d+;\d+", "", text.removesuffix("\x1b\\").partition(";5;8")[2])
    found = []
    for band, rows in enumerate(body.removesuffix("-").split("-")):
        for line in rows.split("$"):
            match = re.fullmatch(r"#(\d+)(.*)", line)
            assert match is not None
            letters = re.sub(r"!(\d+)(.)", lambda m: m[2] * int(m[1]), match[2])
            assert len(letters) == 5
            if match[1] == red:
                found += [
                    (column, 6 * band + row)
                    for column, letter in enumerate(letters)
                    for row in range(6)
                    if ord(letter) - 63 >> row & 1
                ]
    assert found == [(2, 1), (4, 7)]
