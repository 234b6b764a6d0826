"""Image references in Markdown: found by reading it as Markdown, given new destinations.

What stands in a code block or in backticks is no reference, nor is what is escaped. The API
writes an id as it is, so a destination may also be a known id with blanks or brackets in it.
Limits: reference definitions (`[id]: address`) and HTML images are left as they are.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import unquote

Redirect = Callable[[str], "str | None"]
"""The new destination for one that was found; None leaves it alone."""

_FENCE = re.compile(r"^ {0,3}(`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE)
_TICKS = re.compile(r"`+")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_MARKS = re.compile(r"\\.|`+|!\[", re.DOTALL)
_BRACKETS = re.compile(r"\\.|[\[\]]", re.DOTALL)
_ANGLED = re.compile(r"<((?:\\.|[^<>\\\n])*)>")
_BARE = re.compile(r"(?:\\.|[^\s()\\])*")
_TITLE = re.compile(r"(\s+(?:\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|\((?:\\.|[^()\\])*\)))?\s*\)")
_DEEPEST = 32


def rewrite_images(markdown: str, known: Iterable[str], redirect: Redirect) -> str:
    """The same text with image references led elsewhere; `known` are the ids of its images."""
    ids = sorted(set(known), key=len, reverse=True)
    return "".join(
        part if is_code else _rewrite(part, ids, redirect) for part, is_code in _blocks(markdown)
    )


def _blocks(markdown: str) -> Iterator[tuple[str, bool]]:
    """The text in parts, and whether each is a fenced block of code."""
    place = 0
    while (opening := _FENCE.search(markdown, place)) is not None:
        start = opening.start()
        yield markdown[place:start], False
        mark = opening[1]
        closing = re.compile(rf"^ {{0,3}}{mark[0]}{{{len(mark)},}}[ \t]*$", re.MULTILINE)
        found = closing.search(markdown, opening.end())
        place = found.end() if found else len(markdown)
        yield markdown[start:place], True
    yield markdown[place:], False


def _rewrite(text: str, ids: list[str], redirect: Redirect) -> str:
    parts: list[str] = []
    copied = place = 0
    while (mark := _MARKS.search(text, place)) is not None:
        place = mark.end()
        if mark[0].startswith("`"):
            place = _end_of_code(text, mark)
        elif mark[0] == "![":
            spot = _find_destination(text, place, ids)
            if spot is None:
                continue
            start, place, destination = spot
            target = redirect(destination)
            if target is not None:
                parts += [text[copied:start], target]
                copied = place
    return "".join([*parts, text[copied:]])


def _end_of_code(text: str, opening: "re.Match[str]") -> int:
    for ticks in _TICKS.finditer(text, opening.end()):
        if len(ticks[0]) == len(opening[0]):
            return ticks.end()
    return opening.end()


def _find_destination(text: str, place: int, ids: list[str]) -> tuple[int, int, str] | None:
    """Where the destination of an image stands whose `![` ends at `place`, and what it says."""
    start = _end_of_brackets(text, place)
    if start is None or text[start : start + 1] != "(":
        return None
    start += 1
    while text[start : start + 1] in (" ", "\t", "\n"):
        start += 1
    for image_id in ids:
        end = start + len(image_id)
        if image_id and text.startswith(image_id, start) and _TITLE.match(text, end):
            return start, end, image_id
    angled = _ANGLED.match(text, start)
    end = angled.end() if angled else _end_of_bare(text, start)
    if _TITLE.match(text, end) is None:
        return None
    written = angled[1] if angled else text[start:end]
    return start, end, _find_id(_ESCAPE.sub(r"\1", written), ids)


def _end_of_brackets(text: str, place: int) -> int | None:
    depth = 1
    for mark in _BRACKETS.finditer(text, place):
        if mark[0] in "[]":
            depth += 1 if mark[0] == "[" else -1
        if depth == 0:
            return mark.end()
        if depth > _DEEPEST:
            return None
    return None


def _end_of_bare(text: str, place: int) -> int:
    """The end of a destination without angles: brackets in it are balanced."""
    depth = 0
    while True:
        run = _BARE.match(text, place)
        assert run is not None
        place = run.end()
        mark = text[place : place + 1]
        if mark == "(" and depth < _DEEPEST:
            depth += 1
        elif mark == ")" and depth:
            depth -= 1
        else:
            return place
        place += 1


def _find_id(destination: str, ids: list[str]) -> str:
    """The id that is meant, where it was written in the way of addresses."""
    decoded = unquote(destination)
    return decoded if destination not in ids and decoded in ids else destination
