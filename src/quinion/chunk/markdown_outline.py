"""Markdown → its sections, and the places between its blocks.

Only the parser's block half is run: it tells headings from what only looks like one (in a fence,
a comment, a list), and where tables, lists and fences begin. Only headings that stand by
themselves make sections; one in a quotation or a list item is part of it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.utils import EnvType

from quinion.chunk.lines import line_starts
from quinion.chunk.splitter import CutPositions

TITLE_CHARACTERS = 200
"""Of a title that are kept: a paragraph with a rule under it is a heading too, however long."""

_PARSER = MarkdownIt("commonmark").enable("table")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?=[^\n:]+:)(?:[^\n]*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_MARKUP = re.compile(r"[\\`*_\[\]<>&!{\n]")
# Where links to a heading lead: a tag of its own before it, or, for Pandoc, kramdown and many site
# generators, braces at its end.
_ANCHOR = re.compile(r"(?:\s*<a\s[^<>]*>(?:\s*</a>)?)+\s*")
_ATTRIBUTES = re.compile(r"\s*\{[#.:][^{}]*\}\s*$")


@dataclass(frozen=True, slots=True)
class MarkdownSection:
    """From one heading to the next.

    `path` has the titles above it and its own, `outer` those that do not stand in it, `level` is
    1 to 6, `body` is where its heading ends. What comes before the first heading has level 0.
    """

    start: int
    body: int
    end: int
    path: tuple[str, ...]
    outer: tuple[str, ...]
    level: int


@dataclass(frozen=True, slots=True)
class Outline:
    """The sections, which are the whole text, and where to cut them, at blocks first."""

    sections: list[MarkdownSection]
    levels: list[CutPositions]


def read_outline(text: str) -> Outline:
    """Parse the text."""
    found = _FRONT_MATTER.match(text)
    front = found.end() if found else 0
    starts = [front + start for start in line_starts(text[front:])]
    env: EnvType = {}
    tokens: list[Token] = []
    _PARSER.block.parse(text[front:], _PARSER, env, tokens)
    sections = _find_sections(text, tokens, starts, env)
    return Outline(sections, _find_levels(tokens, starts, front))


def _find_sections(
    text: str, tokens: Sequence[Token], starts: Sequence[int], env: EnvType
) -> list[MarkdownSection]:
    sections = [MarkdownSection(0, 0, len(text), (), (), 0)]
    above: list[tuple[int, str]] = []
    anchor = None
    for opening, inline in pairwise(tokens):
        if opening.level or opening.map is None:
            continue
        start, end = (starts[line] for line in opening.map)
        if opening.type != "heading_open":
            anchor = start if _ANCHOR.fullmatch(text, start, end) else None
            continue
        level = int(opening.tag[1:])
        while above and above[-1][0] >= level:
            above.pop()
        outer = tuple(title for _, title in above if title)
        above.append((level, _read_title(inline.content, env)))
        path = tuple(title for _, title in above if title)
        start = start if anchor is None else anchor
        anchor = None
        sections[-1] = replace(sections[-1], end=start)
        sections.append(MarkdownSection(start, end, len(text), path, outer, level))
    return sections


def _read_title(content: str, env: EnvType) -> str:
    """The heading without its markup, on one line."""
    content = content[: 4 * TITLE_CHARACTERS]
    if _MARKUP.search(content):
        [inline] = _PARSER.parseInline(content, env)
        content = _ATTRIBUTES.sub("", "".join(_plain(inline.children or [])))
    title = " ".join(content.split())
    return title if len(title) <= TITLE_CHARACTERS else title[: TITLE_CHARACTERS - 1] + "…"


def _plain(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in {"softbreak", "hardbreak"}:
            yield " "
        elif token.type == "image":
            yield from _plain(token.children or [])
        elif token.type != "html_inline":
            yield token.content


def _find_levels(tokens: Sequence[Token], starts: Sequence[int], front: int) -> list[CutPositions]:
    """Where blocks begin, then where those inside them do (items, rows) too, and so on.

    A heading is not cut off from what follows it, nor a table's head from its first row.
    """
    depths = {front: 0}
    stuck: set[int] = set()
    under_heading = False
    for token in tokens:
        if token.map is None or token.nesting < 0 or token.type == "inline":
            continue
        place = starts[token.map[0]]
        if token.type == "tbody_open" or (under_heading and token.level == 0):
            stuck.add(place)
        if place not in stuck:
            depths.setdefault(place, token.level)
        if token.level == 0:
            under_heading = token.type == "heading_open"
    return [
        CutPositions(sorted(place for place, depth in depths.items() if depth <= deepest))
        for deepest in sorted(set(depths.values()))
    ]
