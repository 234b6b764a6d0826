"""Properties of the parts that read what the API says."""

import base64
import io
import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mistral_ocr_mcp.images import choose_name
from mistral_ocr_mcp.links import rewrite_images
from mistral_ocr_mcp.spool import ImageStripper, Picture, Spool

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
TRICKY = st.sampled_from(
    [
        '"image_base64": "AAAA"',
        '\\"image_base64\\": \\"',
        "image_base64",
        '"',
        "\\",
        "\\\\",
        '\\"',
        "{",
    ]
)
IMAGES = st.one_of(
    st.none(),
    st.binary(max_size=300).map(lambda data: base64.b64encode(data).decode()),
    st.binary(max_size=300).map(
        lambda data: "data:image/jpeg;base64," + base64.b64encode(data).decode()
    ),
)
PAGES = st.lists(
    st.fixed_dictionaries(
        {
            "markdown": st.lists(TEXTS | TRICKY).map("".join),
            "images": st.lists(st.fixed_dictionaries({"id": TEXTS, "image_base64": IMAGES})),
        }
    ),
    max_size=4,
)


@given(PAGES, st.integers(1, 50), st.booleans(), st.booleans())
@settings(max_examples=300)
def test_an_answer_is_the_same_without_its_image_data_however_it_is_cut(
    pages: list[dict[str, Any]], size: int, ascii_only: bool, escaped: bool
) -> None:
    text = json.dumps({"pages": pages}, ensure_ascii=ascii_only)
    if escaped:  # as some libraries write it
        text = text.replace("/", "\\/")
    whole = text.encode()
    spool = Spool(io.BytesIO, "memory")
    stripper = ImageStripper(spool)
    for start in range(0, len(whole), size):
        stripper.feed(whole[start : start + size])
    slim = json.loads(stripper.finish())
    assert [page["markdown"] for page in slim["pages"]] == [page["markdown"] for page in pages]
    for got_page, page in zip(slim["pages"], pages, strict=True):
        for got, image in zip(got_page["images"], page["images"], strict=True):
            assert got["id"] == image["id"]
            if image["image_base64"] is None:
                assert got["image_base64"] is None
            else:
                _check(spool, spool.find(got["image_base64"]), image["image_base64"])


def _check(spool: Spool, picture: Picture, sent: str) -> None:
    header, _, data = sent.rpartition(",")
    raw = base64.b64decode(data)
    assert b"".join(spool.read(picture)) == raw
    assert picture.mime == ("image/jpeg" if header else None)
    assert picture.problem == (None if raw else "it has no data")


def test_what_is_kept_of_an_answer_does_not_grow_with_its_images() -> None:
    spool = Spool(io.BytesIO, "memory")
    stripper = ImageStripper(spool)
    data = b"A" * 4_000_000
    stripper.feed(b'{"image_base64": "' + data)
    stripper.feed(data + b'"}')
    assert stripper.finish() == b'{"image_base64": "0"}'
    assert spool.find("0").size == 6_000_000


@given(TEXTS, st.sampled_from([None, "image/png", "image/jpeg", "image/svg+xml", "text/html"]))
def test_a_name_is_safe_whatever_the_id(image_id: str, mime: str | None) -> None:
    name = choose_name(image_id, mime, set())
    assert re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,120}\.(png|jpeg|jpg)", name)


@given(st.lists(TEXTS, max_size=20))
def test_no_two_names_differ_by_case_alone(ids: list[str]) -> None:
    taken: set[str] = set()
    for image_id in ids:
        name = choose_name(image_id, None, taken).lower()
        assert name not in taken
        taken.add(name)


MARKDOWN = st.lists(
    st.sampled_from(
        [*"![]()<>`~\\ \n\t'\"a", "![a](a)", "```\n", "~~~\n", "    ", "data:image/png;base64,AA"]
    ),
    max_size=60,
).map("".join)


@given(MARKDOWN)
@settings(max_examples=500)
def test_without_a_redirection_no_letter_is_changed(markdown: str) -> None:
    assert rewrite_images(markdown, ["a"], lambda _: None) == markdown


@given(MARKDOWN)
@settings(max_examples=500)
def test_rewriting_changes_destinations_and_nothing_else(markdown: str) -> None:
    """Put back, the text is what it was."""
    found: list[str] = []

    def mark(destination: str) -> str:
        found.append(destination)
        return "\x00"

    marked = rewrite_images(markdown, ["a"], mark)
    assert marked.count("\x00") == len(found)
    parts = re.split("\x00", marked)
    pattern = ".*?".join(map(re.escape, parts))
    assert re.fullmatch(pattern, markdown, re.DOTALL)


def test_hostile_markdown_takes_no_time() -> None:
    for piece in ("![", "`", "``` ", "![a](", "![a](<", "\\", "![](" + "(" * 50, "![a](a '"):
        text = piece * 20_000
        assert rewrite_images(text, ["a"], lambda _: None) == text
