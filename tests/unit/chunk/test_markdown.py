import pytest

from quinion.chunk.markdown import split_markdown
from quinion.model.chunk import FileChunk
from tests.tokens import by_model, by_words

SIZE = 48


def split(text: str, size: int = SIZE) -> list[FileChunk]:
    return split_markdown(text, by_words, size)


def paths(text: str, size: int = SIZE) -> list[tuple[str, int]]:
    return [
        (str(chunk.metadata["header_path"]), int(chunk.metadata["header_level"]))
        for chunk in split(text, size)
    ]


def words(count: int) -> str:
    return " ".join(["word"] * count)


def test_a_section_is_a_chunk_with_its_path_and_its_lines() -> None:
    text = "# Guide\n\nIntro.\n\n## Install\n\nRun it.\n\n## Use\n\nUse it.\n"
    chunks = split(text)
    assert [chunk.metadata for chunk in chunks] == [
        {"header_path": "Guide", "header_level": 1, "start_line": 1, "end_line": 3},
        {"header_path": "Guide > Install", "header_level": 2, "start_line": 5, "end_line": 7},
        {"header_path": "Guide > Use", "header_level": 2, "start_line": 9, "end_line": 11},
    ]
    assert chunks[1].text == "## Install\n\nRun it."


def test_text_before_the_first_heading_has_an_empty_path() -> None:
    assert paths("Before.\n\n# First\n\nText.\n") == [("", 0), ("First", 1)]


def test_a_file_without_headings_is_kept() -> None:
    [chunk] = split("Just a note.\n")
    assert (chunk.text, chunk.metadata["header_path"]) == ("Just a note.", "")


def test_a_level_that_is_left_out_is_left_out_of_the_path() -> None:
    assert paths("# A\n\na\n\n### C\n\nc\n\n## B\n\nb\n") == [("A", 1), ("A > C", 3), ("A > B", 2)]


def test_underlined_headings_are_headings() -> None:
    assert paths("Title\n=====\n\na\n\nPart\n----\n\nb\n") == [("Title", 1), ("Title > Part", 2)]


@pytest.mark.parametrize(
    "block",
    [
        "```sh\n# no heading\n```",
        "~~~\n# no heading\n~~~",
        "    # no heading",
        "<!--\n# no heading\n-->",
        "> # no heading",
        "- item\n\n  # no heading",
        "#hashtag",
        "\\# no heading",
    ],
)
def test_what_only_looks_like_a_heading_is_none(block: str) -> None:
    assert paths(f"# Real\n\n{block}\n\nafter\n") == [("Real", 1)]


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("# The `index_file` *tool*", "The index_file tool"),
        ("# [Link](http://a.b/c_d_e) and **bold**", "Link and bold"),
        ("# [Reference][1]", "Reference"),
        ("# ![logo](x.png) Name", "logo Name"),
        ("# A &amp; B <br> C", "A & B C"),
        ("# Closed ##", "Closed"),
        ("# Anchored {#anchor .class}", "Anchored"),
        ("# snake_case_name and 2 * 3", "snake_case_name and 2 * 3"),
        ("# Escaped \\*stars\\*", "Escaped *stars*"),
        ("Two\nlines\n===", "Two lines"),
        ("#", ""),
    ],
)
def test_a_path_has_titles_without_markup(heading: str, title: str) -> None:
    assert paths(f"{heading}\n\ntext\n\n[1]: http://a.b\n") == [(title, 1)]


def test_a_title_without_end_is_cut_short_in_the_path_only() -> None:
    text = "# " + "title " * 100 + "\n\ntext\n"
    chunks = split_markdown(text, by_model(), 254)
    assert "".join(chunk.text for chunk in chunks).count("title") == 100
    assert all(len(str(chunk.metadata["header_path"])) == 200 for chunk in chunks)


def test_front_matter_is_a_chunk_of_its_own() -> None:
    text = "---\ntitle: A\n# comment: b\n---\n# Heading\n\ntext\n"
    chunks = split(text)
    assert chunks[0].text == "---\ntitle: A\n# comment: b\n---"
    assert paths(text) == [("", 0), ("Heading", 1)]


def test_two_rules_are_not_front_matter() -> None:
    assert paths("---\n\n# A\n\na\n\n---\n\n# B\n\nb\n") == [("", 0), ("A", 1), ("B", 1)]


def test_a_bare_heading_goes_with_its_first_child() -> None:
    [first, second] = split("# Manual\n\n## Part\n\n### Start\n\ntext\n\n### Next\n\nmore\n")
    assert first.text == "# Manual\n\n## Part\n\n### Start\n\ntext"
    assert first.metadata["header_path"] == "Manual > Part > Start"
    assert (first.heading, second.heading) == ("", "Manual > Part")


def test_a_bare_heading_before_another_of_its_level_stands_alone() -> None:
    assert paths("## A\n\n## B\n\ntext\n\n# End\n") == [("A", 2), ("B", 2), ("End", 1)]


def test_small_sections_are_not_put_together() -> None:
    assert len(split("".join(f"## {n}\n\nx\n\n" for n in range(5)))) == 5


def test_a_chunk_is_embedded_under_the_headings_that_it_does_not_show() -> None:
    text = f"# Tools\n\nAll.\n\n## search\n\n{words(40)}\n\n{words(40)}\n"
    assert [chunk.heading for chunk in split(text)] == ["", "Tools", "Tools > search"]


def test_a_long_path_loses_its_outer_parts_first() -> None:
    text = f"# {words(5)} one\n\nIntro.\n\n## {words(5)} two\n\n{words(40)}\n\n{words(40)}\n"
    headings = [chunk.heading for chunk in split(text)]
    assert headings == ["", f"{words(5)} one", f"{words(5)} two", f"{words(5)} two"]


@pytest.mark.parametrize(
    "block",
    [
        "```\n" + "code = 1\n\n" * 8 + "```",
        "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 4,
        "- item one\n- item two\n\n  more of it\n\n  - inner\n- item three",
        "> quoted\n> more\n>\n> " + words(10),
    ],
)
def test_a_block_that_fits_is_kept_whole(block: str) -> None:
    text = f"# Title\n\n{words(30)}\n\n{block}\n\n{words(30)}\n"
    assert any(block.strip() in chunk.text for chunk in split(text))


def test_a_long_table_is_cut_between_rows_and_its_head_keeps_its_first_row() -> None:
    table = "| name | value |\n|---|---|\n" + "".join(
        f"| row {n} | long value of it |\n" for n in range(30)
    )
    chunks = split(f"# T\n\n{words(30)}\n\n{table}")
    assert all(line.startswith("|") for p in chunks[1:] for line in p.text.split("\n"))
    [head] = [chunk.text for chunk in chunks if "|---|" in chunk.text]
    assert "row 0" in head


def test_a_long_list_is_cut_between_items() -> None:
    items = "".join(f"- item {n} has\n  two lines\n\n  and a paragraph\n" for n in range(12))
    chunks = split(f"# L\n\n{items}")
    assert len(chunks) == 3
    assert all(chunk.text.startswith("- item") for chunk in chunks[1:])


def test_a_heading_stays_with_what_follows_it() -> None:
    text = f"# Title\n\n```\n{'x = 1' + chr(10)}{('y = 2' + chr(10)) * 40}```\n"
    assert split(text)[0].text.startswith("# Title\n\n```\nx = 1")


def test_an_anchor_goes_with_the_heading_after_it() -> None:
    text = 'a\n\n<a id="1.0"></a>\n\n## 1.0\n\nb\n\n<a name="0.9"></a>\n## 0.9\n\nc\n'
    assert [chunk.text.split("\n")[0] for chunk in split(text)] == [
        "a",
        '<a id="1.0"></a>',
        '<a name="0.9"></a>',
    ]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "# h\n" * 10_000,
        "- item\n" * 10_000,
        "|a|b|\n|-|-|\n" + "|1|2|\n" * 10_000,
        ">" * 2_000 + "\n" * 2_000,
        "".join("  " * depth + "- a\n" for depth in range(500)),
        "[" * 100_000,
        "<div>\n" * 10_000,
        "word\n" * 10_000 + "===\n",
        "# " + "[" * 100_000,
    ],
    ids=lambda text: repr(text[:6]),
)
def test_what_is_written_to_keep_parsers_busy_does_not(text: str) -> None:
    chunks = split(text, 254)
    kept = sum(len("".join(chunk.text.split())) for chunk in chunks)
    assert kept == len("".join(text.split()))
