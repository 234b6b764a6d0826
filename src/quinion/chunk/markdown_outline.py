"""Outline of Markdown: its sections, and the cuts between blocks.

Only the parser's block pass is run. It distinguishes headings from lookalikes (in a fence, a
comment, a list) and locates tables, lists and fences. Only top-level headings start sections; a
heading in a quotation or list item is part of it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.utils import EnvType

from quinion.chunk.line_numbers import line_starts
from quinion.chunk.splitter import CutPositions

TITLE_CHARACTERS = 200
"""Limit for a title: a long paragraph with a rule under it is a heading too."""

_PARSER = MarkdownIt("commonmark").enable("table")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?=[^\n:]+:)(?:[^\n]*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_MARKUP = re.compile(r"[\\`*_\[\]<>&!{\n]")
# Anchors of a heading: an <a> tag before it, or, in Pandoc, kramdown and many site generators,
# attributes in braces at its end.
_ANCHOR = re.compile(r"(?:\s*<a\s[^<>]*>(?:\s*</a>)?)+\s*")
_ATTRIBUTES = re.compile(r"\s*\{[#.:][^{}]*\}\s*$")


@dataclass(frozen=True, slots=True)
class MarkdownSection:
    """The text from one heading to the next.

    `path` has the titles of the enclosing sections and its own, `outer` those that are not in its
    text. `level` is 1 to 6, or 0 for the text before the first heading. `body` is where its
    heading ends.
    """

    start: int
    body: int
    end: int
    path: tuple[str, ...]
    outer: tuple[str, ...]
    level: int


@dataclass(frozen=True, slots=True)
class MarkdownOutline:
    """The sections, which cover the text, and their cuts, outer blocks first."""

    sections: list[MarkdownSection]
    levels: list[CutPositions]


def read_outline(text: str) -> MarkdownOutline:
    """Parse Markdown into sections and cuts."""
    found = _FRONT_MATTER.match(text)
    front = found.end() if found else 0
    starts = [front + start for start in line_starts(text[front:])]
    env: EnvType = {}
    tokens: list[Token] = []
    _PARSER.block.parse(text[front:], _PARSER, env, tokens)
    sections = _find_sections(text, tokens, starts, env)
    return MarkdownOutline(sections, _find_levels(tokens, starts, front))


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
    """Return the heading without markup, on one line."""
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
    """Return the starts of blocks, level by level: blocks first, then items and rows, and so on.

    A heading is not separated from the block after it, nor a table header from its first row.
    """
    depths = {front: 0}
    no_cut: set[int] = set()
    under_heading = False
    for token in tokens:
        if token.map is None or token.nesting < 0 or token.type == "inline":
            continue
        offset = starts[token.map[0]]
        if token.type == "tbody_open" or (under_heading and token.level == 0):
            no_cut.add(offset)
        if offset not in no_cut:
            depths.setdefault(offset, token.level)
        if token.level == 0:
            under_heading = token.type == "heading_open"
    return [
        CutPositions(sorted(offset for offset, depth in depths.items() if depth <= deepest))
        for deepest in sorted(set(depths.values()))
    ]
