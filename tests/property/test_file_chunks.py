"""What holds of the chunks of any file: nothing is lost, places and lines are exact, sizes hold.

The documents are put together from pieces that splitters stumble over. What a Markdown or Python
chunk says of itself is compared with what the piece says, or with Python's own parser.
"""

import argparse
import ast
import inspect
import pathlib
import re
from collections.abc import Iterator, Sequence
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quinion.chunk.bare_headings import is_bare_heading, is_contents
from quinion.chunk.file_chunks import split_parts
from quinion.chunk.headings import SEPARATOR
from quinion.chunk.markdown import split_markdown
from quinion.chunk.paged import split_pages
from quinion.chunk.token_offsets import CHARACTERS, Measure
from quinion.model.chunk import FileChunk
from quinion.model.page import Method, Page
from quinion.model.text_part import Syntax, TextPart
from tests.tokens import by_model, by_words

SIZES = st.sampled_from([24, 40, 64, 254])
MEASURES = st.sampled_from([by_words, by_model()])

SIGNS = "ab1 .,;!?'\"`#*_|<>&-=+~[]()\\:éß中한🙂"
ODD = "\n\t\x0c\x0b\x1c\x85\u2028\u200b\ufffd\xa0\u0301"
nasty = st.text(st.sampled_from(SIGNS + ODD), max_size=300)
long_pieces = st.sampled_from(
    ["x" * 700, "word " * 150, "line\n" * 80, "para.\n\n" * 50, " " * 900, "中文。" * 90, "\n" * 40]
)
texts = st.lists(nasty | long_pieces | st.text(max_size=40), max_size=8).map("\n".join)


def check(text: str, chunks: Sequence[FileChunk], measure: Measure, size: int) -> None:
    """All that holds whatever the format is."""
    check_sizes(text, chunks, measure, size)
    assert not list(gaps(text, chunks))


def gaps(text: str, chunks: Sequence[FileChunk]) -> Iterator[str]:
    """The parts of the text that are in no chunk."""
    starts = [*(chunk.start for chunk in chunks), len(text)]
    ends = [0, *(chunk.end for chunk in chunks)]
    for start, end in zip(ends, starts, strict=True):
        if part := text[start:end].strip():
            yield part


def is_on_page_edges(line: str, pages: Sequence[str]) -> bool:
    """Whether a line is blank, a number, or at the edge of three pages and within none.

    A line of contents may be left out wherever it is.
    """
    if is_contents(line):
        return True
    if not re.sub(r"[\W_\divxl]|page|of", "", line):
        return True
    lines = [[line.strip() for line in page.splitlines() if line.strip()] for page in pages]
    edges = sum(line.strip() in (*page[:3], *page[-3:]) for page in lines)
    return edges >= 3 and not any(line.strip() in page[3:-3] for page in lines)


def check_sizes(
    text: str, chunks: Sequence[FileChunk], measure: Measure, size: int, *, is_page: bool = False
) -> None:
    place = 0
    for chunk in chunks:
        assert place <= chunk.start < chunk.end
        own = text[chunk.start : chunk.end]
        assert chunk.text == own or (is_page and is_bare_heading(own))
        assert chunk.text.startswith(own)
        assert chunk.text.strip()
        assert chunk.tokens == len(measure(chunk.text))
        assert len(chunk.text) <= CHARACTERS * size
        heading = len(measure(chunk.heading))
        assert heading <= size // 4
        assert heading + chunk.tokens <= size
        place = chunk.end


def check_lines(text: str, chunks: Sequence[FileChunk]) -> None:
    for chunk in chunks:
        first, last = (int(chunk.metadata[key]) for key in ("start_line", "end_line"))
        lines = "\n".join(text.split("\n")[first - 1 : last])
        assert chunk.text in lines
        assert text.count("\n", 0, chunk.start) == first - 1
        assert chunk.text.count("\n") == last - first


def split(text: str, syntax: Syntax, measure: Measure, size: int) -> list[FileChunk]:
    return list(split_parts([TextPart(text, syntax)], measure, size))


@given(texts, st.sampled_from(Syntax), MEASURES, SIZES)
def test_any_text_is_split_in_any_format(
    text: str, syntax: Syntax, measure: Measure, size: int
) -> None:
    chunks = split(text, syntax, measure, size)
    check(text, chunks, measure, size)
    check_lines(text, chunks)
    assert split(text, syntax, measure, size) == chunks


@given(st.lists(texts, max_size=4), MEASURES, SIZES)
def test_pages_are_split_each_by_itself(page_texts: list[str], measure: Measure, size: int) -> None:
    pages = [Page(number, text, Method.OCR) for number, text in enumerate(page_texts, 1)]
    chunks = split_pages(pages, measure, size)
    numbers = [int(chunk.metadata["page_number"]) for chunk in chunks]
    assert numbers == sorted(numbers)
    for page in pages:
        own = [chunk for chunk in chunks if chunk.metadata["page_number"] == page.number]
        check_sizes(page.text, own, measure, size, is_page=True)
        for left_out in gaps(page.text, own):
            assert all(is_on_page_edges(line, page_texts) for line in left_out.splitlines())
        positions = [chunk.metadata["page_position"] for chunk in own]
        assert positions == ["start", *["middle"] * (len(own) - 2), "end"][: len(own)]


TITLES = ["Install", "Use `it`", "*Why* not", "1. Scope", "A & B", "C# > D", "", "word " * 30]
PLAIN = ["Install", "Use it", "Why not", "1. Scope", "A & B", "C# > D", "", ("word " * 30).strip()]
BLOCKS = [
    "A paragraph of text. It has two sentences.",
    "word " * 90,
    "```py\n# no heading\n\nx = 1\n```",
    "~~~\n## no heading\n" + "code()\n" * 60 + "~~~",
    "| a | b |\n|---|---|\n" + "| # | cell |\n" * 50,
    "- item\n\n  # no heading\n- other\n  - inner",
    "- long item\n" * 60,
    "> # no heading\n> quoted",
    "<!--\n# no heading\n-->",
    "    # indented code",
    "***",
    "![picture](a.png)",
]
headings = st.tuples(st.integers(1, 6), st.sampled_from(range(len(TITLES))), st.booleans())
markdown = st.lists(headings | st.sampled_from(BLOCKS), max_size=14)


def _write_heading(level: int, title: str, underlined: bool) -> str:
    if underlined and level < 3 and title[:1].isalpha():
        return title + "\n" + "=-"[level - 1] * 3
    return "#" * level + " " + title


@given(markdown, SIZES, st.booleans())
def test_markdown_chunks_have_the_path_that_they_stand_under(
    pieces: list[tuple[int, int, bool] | str], size: int, front_matter: bool
) -> None:
    text = "---\ntitle: a\n---\n\n" if front_matter else ""
    above: list[tuple[int, str]] = []
    expected = dict.fromkeys(range(1, 4), ("", 0))
    for piece in pieces:
        start = text.count("\n") + 1
        if isinstance(piece, str):
            text += piece + "\n\n"
        else:
            level, index, underlined = piece
            text += _write_heading(level, TITLES[index], underlined) + "\n\n"
            above = [pair for pair in above if pair[0] < level] + [(level, PLAIN[index])]
        path = SEPARATOR.join(title for _, title in above if title)
        for line in range(start, text.count("\n") + 1):
            expected[line] = (path, above[-1][0] if above else 0)
    chunks = split_markdown(text, by_words, size)
    check(text, chunks, by_words, size)
    for chunk in chunks:
        said = (chunk.metadata["header_path"], chunk.metadata["header_level"])
        assert said == expected[int(chunk.metadata["end_line"])]


SIMPLE = [
    "x = 1",
    "import os, sys",
    "a = 1; b = 2",
    "# a comment",
    "# another\n# and more",
    '"""A string.\n# not a comment\n\nend"""',
    "call(\n    1,\n    # inside\n    2,\n)",
    "text = '''\nclass No:\n    def no(): pass\n'''",
    "long = [" + "1, " * 120 + "]",
    "data = (\n" + "    'line',\n" * 60 + ")",
    "é = 'ü' * 3",
    "pass",
    "",
    "\x0c",
    "y = lambda: 0",
]
HEADERS = [
    ("def f(a):", False),
    ("async def g(self):", False),
    ("@decorator\n@other(1)\ndef f(a, b=2):", False),
    ("# directly above\ndef h():", False),
    ("class A:", False),
    ("class B(Base,\n        Other):", False),
    ("@dataclass\nclass C:", False),
    ("if x:", True),
    ("try:", True),
    ("for i in y:", True),
    ("with z:", True),
    ("while x:", True),
]


def _indent(block: str) -> str:
    """Indent as an editor would: strings over several lines too, which does them no harm."""
    return "\n".join("    " + line if line.strip() else line for line in block.split("\n"))


def _suite(header: tuple[str, bool], body: list[str], other: list[str]) -> str:
    head, may_end = header
    filled = "\n".join(map(_indent, [*body, "pass"]))
    block = f"{head}\n{filled}"
    if head.startswith("try"):
        return f"{block}\nexcept ValueError:\n" + "\n".join(map(_indent, [*other, "pass"]))
    if may_end and other and not head.startswith("with"):
        return f"{block}\nelse:\n" + "\n".join(map(_indent, [*other, "pass"]))
    return block


statements = st.recursive(
    st.sampled_from(SIMPLE),
    lambda inner: st.builds(
        _suite, st.sampled_from(HEADERS), st.lists(inner, max_size=4), st.lists(inner, max_size=2)
    ),
    max_leaves=30,
)
modules = st.lists(statements, max_size=8).map(lambda blocks: "\n".join(blocks) + "\n")

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def outermost(body: Sequence[ast.AST], names: tuple[str, ...] = ()) -> dict[int, tuple[str, str]]:
    """Of each line of a definition, its class and the outermost function that it is in."""
    found: dict[int, tuple[str, str]] = {}
    for node in body:
        if isinstance(node, Definition):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            lines = range(first, (node.end_lineno or 0) + 1)
            if isinstance(node, ast.ClassDef):
                path = (*names, node.name)
                found |= dict.fromkeys(lines, (".".join(path), ""))
                found |= outermost(node.body, path)
            else:
                found |= dict.fromkeys(lines, (".".join(names), node.name))
        else:
            found |= outermost([*ast.iter_child_nodes(node)], names)
    return found


def check_names(text: str, chunks: Sequence[FileChunk]) -> None:
    """No line of a function is in a chunk of another, nor one of a class."""
    owners = outermost(ast.parse(text).body)
    for chunk in chunks:
        first, last = (int(chunk.metadata[key]) for key in ("start_line", "end_line"))
        class_name = str(chunk.metadata.get("class_name", ""))
        function = str(chunk.metadata.get("function_name", ""))
        functions = {owners[line] for line in range(first, last + 1) if line in owners}
        for owner_class, owner_function in functions:
            if owner_function:
                full = ".".join(filter(None, (class_name, function))) + "."
                assert full.startswith(".".join(filter(None, (owner_class, owner_function))) + ".")
            else:
                assert (class_name + ".").startswith(owner_class + ".")
        comments = all(line.lstrip()[:1] in {"#", ""} for line in chunk.text.split("\n"))
        assert not function or comments or any(owner for _, owner in functions)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(modules, MEASURES, SIZES)
def test_python_chunks_have_the_names_of_what_they_are_in(
    text: str, measure: Measure, size: int
) -> None:
    chunks = split(text, Syntax.PYTHON, measure, size)
    check(text, chunks, measure, size)
    check_lines(text, chunks)
    check_names(text, chunks)


@pytest.mark.parametrize("module", [ast, argparse, pathlib], ids=lambda module: module.__name__)
def test_real_modules_are_split_with_their_names(module: ModuleType) -> None:
    text = inspect.getsource(module)
    chunks = split(text, Syntax.PYTHON, by_model(), 254)
    check(text, chunks, by_model(), 254)
    check_lines(text, chunks)
    check_names(text, chunks)
